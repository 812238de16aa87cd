#pragma once
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "cache/layers/per_process.h"
#include "cache/store.h"

namespace antegrad::cache {

struct BackgroundLimits {
  uint64_t bytes = uint64_t{64} << 20;  ///< of pending entries
  size_t entries = 1024;
  std::chrono::milliseconds exit_time{2000};  ///< how long the destructor waits for writes to complete
};

/// Writes to another store on a background thread, which the first put() starts. Pending entries are found as
/// if they were written. After a fork, the child drops the parent's pending entries, which the parent will
/// write, and uses a thread of its own.
class BackgroundStore : public Store {
 public:
  explicit BackgroundStore(std::shared_ptr<Store> inner, BackgroundLimits limits = {});
  /// Writes pending entries within the time limit; the rest is lost.
  ~BackgroundStore() override;

  Loaded get(const Address& address) override;
  std::vector<Loaded> get_many(std::span<const Address> addresses) override;
  /// Visits pending entries first.
  bool search(const Digest& key, const Visit& visit) override;
  /// Success means that the entry was accepted. Replaces a pending entry with the same address. Writes
  /// immediately when the queue is full.
  Saved put(const Address& address, const Entry& entry) override;
  std::string name() const override { return inner_->name(); }
  bool read_only() const override { return inner_->read_only(); }

  /// Returns false when something is still pending or being written after the timeout.
  bool flush(std::chrono::milliseconds timeout);
  /// Returns the number of entries that are not written yet.
  size_t waiting() const;
  /// Returns why entries could not be written since the last call, without duplicates.
  std::vector<std::string> take_failures();

 private:
  class Queue;
  /// State of one process.
  struct Live {
    std::shared_ptr<Queue> queue;
  };

  const std::shared_ptr<Store> inner_;
  const BackgroundLimits limits_;
  mutable PerProcess<Live> live_;
};

}  // namespace antegrad::cache
