#pragma once
#include <unistd.h>

#include <atomic>
#include <functional>
#include <memory>

namespace antegrad::cache {

/// An object that each process has for itself. After a fork, a child cannot use the parent's: its mutexes may
/// be held and its threads are gone. The child gets a new one; the parent's is never touched again in it,
/// except that `abandon()` is called once where the object has it.
template <class T>
class PerProcess {
 public:
  using Make = std::function<std::unique_ptr<T>()>;

  explicit PerProcess(Make make) : make_(std::move(make)) {}
  ~PerProcess() {
    Node* node = top_.load();
    if (node && node->process == ::getpid()) delete node;
    // Objects of other processes stay: destroying them could wait for threads that are not here.
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

  /// Null when this process has none yet.
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
