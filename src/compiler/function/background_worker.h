#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace antegrad::compiler {

/// The process's thread for Compile::Background, started by the first job. exit() waits for the running job;
/// jobs that have not begun are dropped. Thread-safe.
class BackgroundWorker {
 public:
  BackgroundWorker() = default;
  ~BackgroundWorker();  ///< drops jobs that have not begun and waits for the running one
  BackgroundWorker(const BackgroundWorker&) = delete;
  BackgroundWorker& operator=(const BackgroundWorker&) = delete;

  /// `job` must not throw. Throws std::system_error when no thread can be started.
  void submit(const void* owner, std::function<void()> job);
  /// Drops the jobs of an owner. After it returns, none of them is running or will run.
  void forget(const void* owner);

  /// Returns the worker of this process; a child of fork() gets its own. It is never destroyed.
  static BackgroundWorker& instance();

 private:
  struct Job {
    const void* owner;
    std::function<void()> run;
  };
  void work();
  void wait_for_job();
  /// Runs one job, if there is one. Returns false when the thread has to end.
  bool run_next();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  const void* running_ = nullptr;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace antegrad::compiler
