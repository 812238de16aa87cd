#pragma once
#include <atomic>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>

namespace antegrad::inline util {

/// Base of the mutexes in this file: fork() acquires them before it copies the process, so that no child
/// inherits a mutex held by a thread that it does not have.
class ForkAware {
 public:
  ForkAware(const ForkAware&) = delete;
  ForkAware& operator=(const ForkAware&) = delete;

 protected:
  ForkAware() = default;
  ~ForkAware() = default;
  /// Called by the most derived class, at the end of its constructor and the beginning of its destructor.
  void register_mutex();
  void unregister_mutex() noexcept;

 private:
  friend class ForkList;
  virtual bool take_before_fork() = 0;           ///< waits only briefly; returns whether it was acquired
  virtual void give_back(bool taken) = 0;        ///< called in the parent
  virtual void repair_in_child(bool taken) = 0;  ///< called in the child, which has a single thread
  ForkAware* before_ = nullptr;
  ForkAware* after_ = nullptr;
  bool taken_ = false;
};

/// For critical sections of microseconds that call no user code. Always usable in a child.
class BriefMutex final : ForkAware {
 public:
  BriefMutex() { register_mutex(); }
  ~BriefMutex() { unregister_mutex(); }
  void lock() { mutex_.lock(); }
  bool try_lock() { return mutex_.try_lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  bool take_before_fork() override;
  void give_back(bool taken) override;
  void repair_in_child(bool taken) override;
  std::mutex mutex_;
};

/// Like BriefMutex, for many readers.
class BriefSharedMutex final : ForkAware {
 public:
  BriefSharedMutex() { register_mutex(); }
  ~BriefSharedMutex() { unregister_mutex(); }
  void lock() { mutex_.lock(); }
  bool try_lock() { return mutex_.try_lock(); }
  void unlock() { mutex_.unlock(); }
  void lock_shared() { mutex_.lock_shared(); }
  bool try_lock_shared() { return mutex_.try_lock_shared(); }
  void unlock_shared() { mutex_.unlock_shared(); }

 private:
  bool take_before_fork() override;
  void give_back(bool taken) override;
  void repair_in_child(bool taken) override;
  std::shared_mutex mutex_;
};

/// For long critical sections (captures, compilation): fork() does not wait for them. In a child of a process
/// in which another thread held the mutex, lock() throws Error(Compile): the guarded state was being changed,
/// and no thread will finish the change.
class LongMutex final : ForkAware {
 public:
  /// `what`: what the holder does, to complete "another thread was ...".
  explicit LongMutex(std::string what) : what_(std::move(what)) { register_mutex(); }
  ~LongMutex() { unregister_mutex(); }
  void lock();
  void unlock();

 private:
  bool take_before_fork() override;
  void give_back(bool taken) override;
  void repair_in_child(bool taken) override;
  const std::string what_;
  std::mutex mutex_;
  std::atomic<std::thread::id> owner_{};
  std::atomic<bool> lost_ = false;
};

}  // namespace antegrad::inline util
