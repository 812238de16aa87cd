#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <string_view>
#include <thread>
#include <unordered_map>

#include "toolchain/toolchain.h"
#include "trace/trace.h"
#include "util/memory_room.h"
#include "util/process_end.h"

namespace antegrad::toolchain {
namespace {

/// Sources to compile; each thread takes the next one that is not taken.
class Job {
 public:
  Job(const Toolchain& toolchain, std::vector<const std::string*> sources, const CodeTarget& target,
      const CompileProgress& progress)
      : toolchain_(toolchain), sources_(std::move(sources)), target_(target), progress_(progress) {
    objects_.resize(sources_.size());
    errors_.resize(sources_.size());
  }

  void work() {
    const trace::In in(context_);
    for (size_t i = next_++; i < sources_.size(); i = next_++) {
      const trace::Span span("compile C");
      const auto start = std::chrono::steady_clock::now();
      try {
        if (process_end::begun()) throw process_end::Ending();
        objects_[i] = toolchain_.compile(*sources_[i], target_);
        objects_[i].seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        tell_progress();
      } catch (...) {
        errors_[i] = std::current_exception();
      }
    }
  }

  std::vector<Object> take() {
    for (const auto& error : errors_) {
      if (error) std::rethrow_exception(error);
    }
    return std::move(objects_);
  }

 private:
  void tell_progress() {
    const std::scoped_lock lock(progress_mutex_);
    ++done_;
    if (!progress_) return;
    try {
      progress_(done_, sources_.size());
    } catch (...) {
      next_ = sources_.size();  // makes all threads stop
      throw;
    }
  }

  const Toolchain& toolchain_;
  const std::vector<const std::string*> sources_;
  const CodeTarget target_;
  const CompileProgress& progress_;
  const trace::Context context_ = trace::current();
  std::mutex progress_mutex_;
  size_t done_ = 0;
  std::atomic<size_t> next_ = 0;
  std::vector<Object> objects_;
  std::vector<std::exception_ptr> errors_;
};

/// Address space for a thread: its stack, its malloc arena and room to compile.
constexpr size_t kRoomForThread = size_t{1} << 29;

/// The calling thread works too, so that compilation succeeds even if no threads can be started.
void work_in_parallel(Job& job, size_t count) {
  const size_t threads = std::min<size_t>(count, std::max(1u, std::thread::hardware_concurrency()));
  std::vector<std::jthread> helpers;
  try {
    while (helpers.size() + 1 < threads && has_room(kRoomForThread))
      helpers.emplace_back([&job] { job.work(); });
  } catch (const std::system_error&) {
  }
  job.work();
}

}  // namespace

std::vector<Object> compile_all(const Toolchain& toolchain, const std::vector<std::string>& sources,
                                const CodeTarget& target, const CompileProgress& progress) {
  std::unordered_map<std::string_view, size_t> index;
  std::vector<const std::string*> distinct;
  for (const auto& source : sources) {
    if (index.emplace(source, distinct.size()).second) distinct.push_back(&source);
  }
  Job job(toolchain, distinct, target, progress);
  work_in_parallel(job, distinct.size());
  const auto compiled = job.take();
  std::vector<Object> objects;
  objects.reserve(sources.size());
  for (const auto& source : sources) objects.push_back(compiled[index.at(source)]);
  return objects;
}

}  // namespace antegrad::toolchain
