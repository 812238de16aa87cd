#pragma once
#include <atomic>
#include <chrono>
#include <mutex>
#include <string>
#include <vector>

namespace antegrad::trace {

/// The trace file of this process. Every line is one write, so nothing written is lost however the process
/// ends. The last line marks the file as complete, if the trace was stopped or the process returned or called
/// exit(). A child of fork() that continues tracing gets its own file. Thread-safe; never throws.
class Sink {
 public:
  static Sink& instance();

  void start(const std::string& directory) noexcept;
  void stop() noexcept;
  void write(std::string line) noexcept;  ///< without the line feed
  int64_t microseconds() const;           ///< since the start
  std::string file() const;
  std::vector<std::string> problems() const;

 private:
  Sink();
  bool open();
  void close_file();
  void finish_file() noexcept;
  void fail(const std::string& problem);
  bool put(const std::string& line);

  static void at_exit() { instance().stop(); }
  static void before_fork() { instance().mutex_.lock(); }
  static void after_fork_in_parent() { instance().mutex_.unlock(); }
  static void after_fork_in_child();

  mutable std::mutex mutex_;
  std::string directory_, file_;
  int descriptor_ = -1;
  std::atomic<std::chrono::steady_clock::rep> start_{0};
  std::vector<std::string> problems_;
};

}  // namespace antegrad::trace
