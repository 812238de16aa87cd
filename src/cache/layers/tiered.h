#pragma once
#include <memory>

#include "cache/store.h"

namespace antegrad::cache {

/// A near store in front of a far one. The far store is only queried for what the near one lacks; what is
/// found there is written to the near one.
class TieredStore : public Store {
 public:
  TieredStore(std::shared_ptr<Store> near, std::shared_ptr<Store> far);

  /// When neither has the entry, the outcome is the far store's unless that is a plain miss.
  Loaded get(const Address& address) override;
  /// Queries the far store at most once.
  std::vector<Loaded> get_many(std::span<const Address> addresses) override;
  /// Visits the far store's entries last, without those that the near one has shown as hits. Only the
  /// accepted entry is written to the near store.
  bool search(const Digest& key, const Visit& visit) override;
  /// Writes to both unless they are read-only; succeeds when one of them has the entry.
  Saved put(const Address& address, const Entry& entry) override;
  std::string name() const override;
  bool read_only() const override { return near_->read_only() && far_->read_only(); }

 private:
  void bring_near(const Address& address, const Entry& entry);
  /// Returns the result for an address that the near store lacks.
  Loaded of_both(const Address& address, Loaded near, Loaded far);

  const std::shared_ptr<Store> near_, far_;
};

}  // namespace antegrad::cache
