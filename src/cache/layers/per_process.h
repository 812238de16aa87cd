#pragma once
#include <unistd.h>

#include <atomic>
#include <functional>
#include <memory>

namespace antegrad::cache {

/// An object that each process has for itself. After a fork, a child cannot use the parent's object: its
/// mutexes may be locked and its threads do not exist. The child gets a new one and never touches the
/// parent's again, except that it calls `abandon()` once if the object has it.
template <class T>
class PerProcess {
 public:
  using Make = std::function<std::unique_ptr<T>()>;

  explicit PerProcess(Make make) : make_(std::move(make)) {}
  ~PerProcess() {
    Node* node = top_.load();
    if (node && node->process == ::getpid()) delete node;
    // Objects of other processes are leaked: destroying them could wait for threads that do not exist here.
  }
  PerProcess(const PerProcess&) = delete;
  PerProcess& operator=(const PerProcess&) = delete;

  T& get() {
    const pid_t process = ::getpid();
    Node* node = top_.load();
    if (node && node->process == process) return *node->value;
    auto made = std::make_unique<Node>(Node{process, make_(), node});
    if (!top_.compare_exchange_strong(node, made.get())) return *node->value;  // another thread was faster
    Node* ours = made.release();
    if constexpr (requires(T & value) { value.abandon(); }) {
      if (ours->before) ours->before->value->abandon();
    }
    return *ours->value;
  }

  /// Returns null when this process has none yet.
  T* existing() const {
    Node* node = top_.load();
    return node && node->process == ::getpid() ? node->value.get() : nullptr;
  }

 private:
  struct Node {
    pid_t process;
    std::unique_ptr<T> value;
    Node* before;
  };

  const Make make_;
  std::atomic<Node*> top_{nullptr};
};

}  // namespace antegrad::cache
