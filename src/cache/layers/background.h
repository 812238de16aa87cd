#pragma once
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "cache/layers/per_process.h"
#include "cache/store.h"

namespace antegrad::cache {

struct BackgroundLimits {
  uint64_t bytes = uint64_t{64} << 20;  ///< of entries that wait
  size_t entries = 1024;
  std::chrono::milliseconds exit_time{2000};  ///< how long the destructor waits for writing to end
};

/// Writes to another store in a thread, which is started by the first put(). What waits is found as if it
/// were written. A child process drops what its parent has waiting, which the parent will write, and has a
/// thread of its own.
class BackgroundStore : public Store {
 public:
  explicit BackgroundStore(std::shared_ptr<Store> inner, BackgroundLimits limits = {});
  /// Writes what waits, for as long as the limits allow; the rest is lost.
  ~BackgroundStore() override;

  Loaded get(const Address& address) override;
  std::vector<Loaded> get_many(std::span<const Address> addresses) override;
  /// What waits comes first.
  bool search(const Digest& key, const Visit& visit) override;
  /// Done means: taken on. Replaces what waits under the same address. Writes at once where there is no room.
  Saved put(const Address& address, const Entry& entry) override;
  std::string name() const override { return inner_->name(); }
  bool read_only() const override { return inner_->read_only(); }

  /// False when something still waits, or is being written, after that time.
  bool flush(std::chrono::milliseconds timeout);
  /// Entries that are not written yet.
  size_t waiting() const;
  /// Why entries could not be written, since the last call. Each reason is given once.
  std::vector<std::string> take_failures();

 private:
  class Queue;
  /// Of one process.
  struct Live {
    std::shared_ptr<Queue> queue;
  };

  const std::shared_ptr<Store> inner_;
  const BackgroundLimits limits_;
  mutable PerProcess<Live> live_;
};

}  // namespace antegrad::cache
