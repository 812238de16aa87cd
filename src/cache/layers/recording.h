#pragma once
#include <memory>
#include <mutex>
#include <set>

#include "cache/store.h"
#include "util/fork_mutex.h"

namespace antegrad::cache {

/// Remembers which entries of another store were used: got, taken in a search, or put.
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

  /// Sorted, each once.
  std::vector<Address> used() const;
  /// False when there were more than it remembers.
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
