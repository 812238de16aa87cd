#pragma once
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cache/layers/background.h"

namespace antegrad::cache {

/// The pending entries and the thread that writes them. The thread shares ownership, so that close() need not
/// wait for a thread that hangs in a slow store.
class BackgroundStore::Queue : public std::enable_shared_from_this<Queue> {
 public:
  using Waiting = std::pair<Address, std::shared_ptr<const Entry>>;

  Queue(std::shared_ptr<Store> store, const BackgroundLimits& limits);

  /// Returns false when the caller has to write the entry, because there is no room or no thread. No older
  /// entry for that address is pending or being written then.
  bool offer(const Address& address, const Entry& entry);
  /// Returns null when the entry is not pending.
  std::shared_ptr<const Entry> find(const Address& address) const;
  /// Sorted by address.
  std::vector<Waiting> find_all(const Digest& key) const;
  size_t size() const;
  bool flush(std::chrono::milliseconds timeout);
  /// Flushes and drops what is left; the thread ends as soon as it can.
  void close(std::chrono::milliseconds timeout);

  void add_failure(const std::string& reason);
  std::vector<std::string> take_failures();

 private:
  bool start();
  void run();
  std::string write(const Waiting& waiting);

  const std::shared_ptr<Store> store_;
  const BackgroundLimits limits_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Address, std::shared_ptr<const Entry>> waiting_;
  std::deque<Address> order_;         ///< addresses of waiting_, in the order in which they are written
  std::shared_ptr<Waiting> writing_;  ///< null when nothing is being written
  uint64_t bytes_ = 0;                ///< of waiting_ and writing_
  bool closing_ = false;
  bool ended_ = false;
  std::thread thread_;
  std::set<std::string> known_failures_;
  std::vector<std::string> failures_;
};

}  // namespace antegrad::cache
