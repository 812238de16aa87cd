#include "util/fork_mutex.h"

#include <fmt/format.h>
#include <pthread.h>

#include <chrono>
#include <new>

#include "antegrad/error.h"

namespace antegrad::inline util {

/// The list of all mutexes. Never destroyed: threads may run while the process ends.
class ForkList {
 public:
  static ForkList& instance() {
    static auto& list = *new ForkList;
    return list;
  }

  void add(ForkAware& one) {
    const std::scoped_lock lock(mutex_);
    one.before_ = nullptr;
    one.after_ = first_;
    if (first_ != nullptr) first_->before_ = &one;
    first_ = &one;
  }

  void remove(ForkAware& one) {
    const std::scoped_lock lock(mutex_);
    (one.before_ != nullptr ? one.before_->after_ : first_) = one.after_;
    if (one.after_ != nullptr) one.after_->before_ = one.before_;
  }

 private:
  ForkList() {
    ::pthread_atfork([] { instance().before_fork(); }, [] { instance().after_fork_in_parent(); },
                     [] { instance().after_fork_in_child(); });
  }

  void before_fork() {
    mutex_.lock();
    for (auto* one = first_; one != nullptr; one = one->after_) one->taken_ = one->take_before_fork();
  }
  void after_fork_in_parent() {
    for (auto* one = first_; one != nullptr; one = one->after_) one->give_back(one->taken_);
    mutex_.unlock();
  }
  void after_fork_in_child() {
    for (auto* one = first_; one != nullptr; one = one->after_) one->repair_in_child(one->taken_);
    mutex_.unlock();
  }

  std::mutex mutex_;
  ForkAware* first_ = nullptr;
};

namespace {

/// fork() acquires mutexes in list order, other threads in any order: to avoid a deadlock it gives up after
/// this time. What the mutex guards is consistent even then, as it is between any two changes of it.
constexpr auto kPatience = std::chrono::milliseconds(100);

template <class Mutex>
bool take(Mutex& mutex) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!mutex.try_lock()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

/// Replaces a mutex by a new one that no thread holds. In a child the holder does not exist; and if the
/// holder is the thread that forked, the mutex may know it by the thread id that it had in the parent.
template <class Mutex>
void renew(Mutex& mutex) {
  new (&mutex) Mutex;
}

}  // namespace

void ForkAware::register_mutex() { ForkList::instance().add(*this); }
void ForkAware::unregister_mutex() noexcept { ForkList::instance().remove(*this); }

bool BriefMutex::take_before_fork() { return take(mutex_); }
void BriefMutex::give_back(bool taken) {
  if (taken) mutex_.unlock();
}
void BriefMutex::repair_in_child(bool) { renew(mutex_); }

bool BriefSharedMutex::take_before_fork() { return take(mutex_); }
void BriefSharedMutex::give_back(bool taken) {
  if (taken) mutex_.unlock();
}
void BriefSharedMutex::repair_in_child(bool) { renew(mutex_); }

void LongMutex::lock() {
  if (lost_.load(std::memory_order_relaxed))
    throw Error(ErrorCode::Compile, "fork",
                fmt::format("this process was forked while another thread was {}, and that thread does not "
                            "exist in the child",
                            what_),
                "Fork while nothing is captured or compiled, or compile the function anew in the child");
  mutex_.lock();
  owner_.store(std::this_thread::get_id(), std::memory_order_relaxed);
}

void LongMutex::unlock() {
  owner_.store({}, std::memory_order_relaxed);
  mutex_.unlock();
}

/// The forking thread may hold the mutex itself: the user's function forks while it is captured.
bool LongMutex::take_before_fork() {
  return owner_.load(std::memory_order_relaxed) != std::this_thread::get_id() && mutex_.try_lock();
}
void LongMutex::give_back(bool taken) {
  if (taken) mutex_.unlock();
}
void LongMutex::repair_in_child(bool taken) {
  if (taken)
    renew(mutex_);
  else if (owner_.load(std::memory_order_relaxed) != std::this_thread::get_id())
    lost_ = true;
}

}  // namespace antegrad::inline util
