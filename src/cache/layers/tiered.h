#pragma once
#include <memory>

#include "cache/store.h"

namespace antegrad::cache {

/// A near store before a far one. The far one is only asked for what the near one does not have; what comes
/// from there is written to the near one.
class TieredStore : public Store {
 public:
  TieredStore(std::shared_ptr<Store> near, std::shared_ptr<Store> far);

  /// When neither has it, the outcome is the far store's unless that is a plain miss.
  Loaded get(const Address& address) override;
  /// The far store is asked at most once.
  std::vector<Loaded> get_many(std::span<const Address> addresses) override;
  /// The far store's entries come last, without those that the near one has shown as hits. Only the one that
  /// is taken is written to the near store.
  bool search(const Digest& key, const Visit& visit) override;
  /// To both, where they may be written; done when one of them has it.
  Saved put(const Address& address, const Entry& entry) override;
  std::string name() const override;
  bool read_only() const override { return near_->read_only() && far_->read_only(); }

 private:
  void bring_near(const Address& address, const Entry& entry);
  /// What to say of an address that the near store does not have.
  Loaded of_both(const Address& address, Loaded near, Loaded far);

  const std::shared_ptr<Store> near_, far_;
};

}  // namespace antegrad::cache
