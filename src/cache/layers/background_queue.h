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

/// What waits to be written, and the thread that writes it. The thread shares ownership: when it hangs in a
/// slow store, whoever closes the queue goes on without it.
class BackgroundStore::Queue : public std::enable_shared_from_this<Queue> {
 public:
  using Waiting = std::pair<Address, std::shared_ptr<const Entry>>;

  Queue(std::shared_ptr<Store> store, const BackgroundLimits& limits);

  /// False when the caller has to write it: there is no room, or no thread. Nothing older that is still to be
  /// written under that address can come after it then.
  bool offer(const Address& address, const Entry& entry);
  /// Null: it does not wait.
  std::shared_ptr<const Entry> find(const Address& address) const;
  /// Sorted.
  std::vector<Waiting> find_all(const Digest& key) const;
  size_t size() const;
  bool flush(std::chrono::milliseconds timeout);
  /// Flushes; drops what is left; the thread ends when it can.
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
  std::deque<Address> order_;         ///< of waiting_: what came first is written first
  std::shared_ptr<Waiting> writing_;  ///< null: nothing
  uint64_t bytes_ = 0;                ///< of waiting_ and writing_
  bool closing_ = false;
  bool ended_ = false;
  std::thread thread_;
  std::set<std::string> known_failures_;
  std::vector<std::string> failures_;
};

}  // namespace antegrad::cache
