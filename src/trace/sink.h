#pragma once
#include <atomic>
#include <chrono>
#include <mutex>
#include <string>
#include <vector>

namespace antegrad::trace {

/// The file of this process. Every line is one write to it, so what was written is there however the process
/// ends; the last line of one that was stopped, or whose process returned or called exit(), says that it is.
/// A child of a fork that goes on tracing gets a file of its own. Thread-safe; nothing throws.
class Sink {
 public:
  static Sink& instance();

  void start(const std::string& directory) noexcept;
  void stop() noexcept;
  void write(std::string line) noexcept;  ///< without its end
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
