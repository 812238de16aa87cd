#include "trace/sink.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "trace/trace.h"

namespace antegrad::trace {
namespace {

constexpr int kFormat = 1;
/// Limit on traces in one directory from processes with the same process id.
constexpr int kMostNames = 10000;
constexpr size_t kMostProblems = 20;

std::string program_name() {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored).filename().string();
}

JsonObject first_line() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  JsonObject line;
  line.add("e", std::string_view("process")).add("t", 0).add("format", kFormat).add("pid", ::getpid());
  line.add("closes", true).add("program", std::string_view(program_name()));
  line.add("unix_us", std::chrono::duration_cast<std::chrono::microseconds>(now).count());
  return line;
}

}  // namespace

Sink::Sink() {
  ::pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
  std::atexit(at_exit);
}

Sink& Sink::instance() {
  static Sink& sink = *new Sink;  // threads may still write while the process ends
  return sink;
}

void Sink::after_fork_in_child() {
  auto& sink = instance();
  if (sink.descriptor_ >= 0) ::close(sink.descriptor_);
  sink.descriptor_ = -1;
  sink.mutex_.unlock();
}

void Sink::fail(const std::string& problem) {
  active.store(false, std::memory_order_relaxed);
  close_file();
  if (problems_.size() < kMostProblems) problems_.push_back(problem);
}

void Sink::close_file() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
  file_.clear();
}

/// Writes a last line that marks the file as complete, and closes it. Files with errors are already closed.
void Sink::finish_file() noexcept try {
  if (descriptor_ < 0) return;
  JsonObject line;
  line.add("e", std::string_view("closed")).add("t", microseconds());
  put(line.text());
  close_file();
} catch (...) {  // out of memory: the file stays as it is
  close_file();
}

bool Sink::open() {
  std::error_code error;
  std::filesystem::create_directories(directory_, error);  // open() reports problems with it
  for (int n = 1; n <= kMostNames; ++n) {
    const auto suffix = n == 1 ? std::string() : fmt::format("-{}", n);
    auto name = fmt::format("{}/trace-{}{}.jsonl", directory_, ::getpid(), suffix);
    descriptor_ = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
    if (descriptor_ >= 0) {
      file_ = std::move(name);
      start_ = std::chrono::steady_clock::now().time_since_epoch().count();
      return put(first_line().text());
    }
    if (errno == EEXIST) continue;
    fail(fmt::format("no trace: cannot write to \"{}\": {}. Name a directory that can be written to",
                     directory_, std::strerror(errno)));
    return false;
  }
  fail(fmt::format("no trace: \"{}\" has too many traces. Remove some", directory_));
  return false;
}

bool Sink::put(const std::string& line) {
  const auto bytes = line + '\n';
  for (size_t done = 0; done < bytes.size();) {
    const auto count = ::write(descriptor_, bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      fail(fmt::format("the trace \"{}\" ends early: {}. Make room, or name another directory", file_,
                       count < 0 ? std::strerror(errno) : "nothing could be written"));
      return false;
    }
    done += count;
  }
  return true;
}

void Sink::start(const std::string& directory) noexcept try {
  const std::scoped_lock lock(mutex_);
  active.store(false, std::memory_order_relaxed);
  finish_file();
  directory_ = directory;
  if (open()) active.store(true, std::memory_order_relaxed);
} catch (...) {
  active.store(false, std::memory_order_relaxed);
}

void Sink::stop() noexcept {
  const std::scoped_lock lock(mutex_);
  active.store(false, std::memory_order_relaxed);
  finish_file();
}

void Sink::write(std::string line) noexcept try {
  const std::scoped_lock lock(mutex_);
  if (!on() || (descriptor_ < 0 && !open())) return;
  put(line);
} catch (...) {
  active.store(false, std::memory_order_relaxed);
}

int64_t Sink::microseconds() const {
  using namespace std::chrono;
  const steady_clock::duration since(steady_clock::now().time_since_epoch().count() - start_.load());
  return duration_cast<std::chrono::microseconds>(since).count();
}

std::string Sink::file() const {
  const std::scoped_lock lock(mutex_);
  return file_;
}

std::vector<std::string> Sink::problems() const {
  const std::scoped_lock lock(mutex_);
  return problems_;
}

}  // namespace antegrad::trace
