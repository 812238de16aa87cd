#pragma once
#include <atomic>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>

namespace antegrad::inline util {

/// What all mutexes of this file have in common: fork() takes them before it copies the process, so that no
/// child finds one that is held by a thread that it does not have.
class ForkAware {
 public:
  ForkAware(const ForkAware&) = delete;
  ForkAware& operator=(const ForkAware&) = delete;

 protected:
  ForkAware() = default;
  ~ForkAware() = default;
  /// By the most derived class, at the end of its constructor and the beginning of its destructor.
  void enlist();
  void delist() noexcept;

 private:
  friend class ForkList;
  virtual bool take_before_fork() = 0;           ///< waits for a short time at most
  virtual void give_back(bool taken) = 0;        ///< in the parent
  virtual void repair_in_child(bool taken) = 0;  ///< there is no other thread
  ForkAware* before_ = nullptr;
  ForkAware* after_ = nullptr;
  bool taken_ = false;
};

/// For what is done in microseconds and calls nothing of the user's. A child can always use it.
class BriefMutex final : ForkAware {
 public:
  BriefMutex() { enlist(); }
  ~BriefMutex() { delist(); }
  void lock() { mutex_.lock(); }
  bool try_lock() { return mutex_.try_lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  bool take_before_fork() override;
  void give_back(bool taken) override;
  void repair_in_child(bool taken) override;
  std::mutex mutex_;
};

/// As BriefMutex, for many readers.
class BriefSharedMutex final : ForkAware {
 public:
  BriefSharedMutex() { enlist(); }
  ~BriefSharedMutex() { delist(); }
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

/// For what takes long (captures, compilation): fork() does not wait for it. In a child of a process in which
/// another thread held it, lock() throws Error(Compile): what it guards was being changed, and nobody will
/// finish that.
class LongMutex final : ForkAware {
 public:
  /// `what`: what it is held for, as in "another thread was ...".
  explicit LongMutex(std::string what) : what_(std::move(what)) { enlist(); }
  ~LongMutex() { delist(); }
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
