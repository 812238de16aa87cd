#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace antegrad::compiler {

/// The thread that compiles for Compile::Background: one for the process, started by the first job. exit()
/// waits for the job that is running; those that have not begun never do. Thread-safe.
class BackgroundWorker {
 public:
  BackgroundWorker() = default;
  ~BackgroundWorker();  ///< drops what has not begun, waits for what has
  BackgroundWorker(const BackgroundWorker&) = delete;
  BackgroundWorker& operator=(const BackgroundWorker&) = delete;

  /// The job throws nothing. Throws std::system_error when there is no thread.
  void submit(const void* owner, std::function<void()> job);
  /// Drops the jobs of an owner. When it returns none of them is running or ever will.
  void forget(const void* owner);

  /// A child made by fork() has one of its own. It lives until the process ends.
  static BackgroundWorker& instance();

 private:
  struct Job {
    const void* owner;
    std::function<void()> run;
  };
  void work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  const void* running_ = nullptr;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace antegrad::compiler
