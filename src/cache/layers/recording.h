#pragma once
#include <memory>
#include <mutex>
#include <set>

#include "cache/store.h"
#include "util/fork_mutex.h"

namespace antegrad::cache {

/// Records which entries of another store were used: loaded, accepted in a search, or written.
class RecordingStore : public Store {
 public:
  static constexpr size_t kMostAddresses = 100'000;

  explicit RecordingStore(std::shared_ptr<Store> inner, size_t most = kMostAddresses);

  Loaded get(const Address& address) override;
  std::vector<Loaded> get_many(std::span<const Address> addresses) override;
  bool search(const Digest& key, const Visit& visit) override;
  Saved put(const Address& address, const Entry& entry) override;
  std::string name() const override { return inner_->name(); }
  bool read_only() const override { return inner_->read_only(); }

  /// Sorted, without duplicates.
  std::vector<Address> used() const;
  /// Returns false when there were more than it can record.
  bool complete() const;

 private:
  void remember(const Address& address);

  const std::shared_ptr<Store> inner_;
  const size_t most_;
  mutable BriefMutex mutex_;
  std::set<Address> used_;
  bool complete_ = true;
};

}  // namespace antegrad::cache
