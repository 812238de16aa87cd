#include "util/process_end.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

#include "util/ids.h"

namespace antegrad::inline util::process_end {
namespace {

/// How long a thread sleeps that enters or leaves a section after exit() was called. Static objects of the
/// user may wait for such a thread, hence the short time first; those of libraries hardly ever do, and the
/// process is gone by then.
constexpr auto kParked = std::chrono::seconds(2), kParkedAtTheEnd = std::chrono::seconds(60);
/// A limit for captures: their user code may wait for something that the end of the process has removed.
constexpr auto kPatience = std::chrono::seconds(10);

/// Closing: exit() was called, or the main thread has ended by pthread_exit(). Ended: the static objects of
/// libraries that were loaded before this one are destroyed next.
enum class Phase { Open, Closing, Ended };

using Counts = std::array<int, 3>;
thread_local Counts own{};  ///< number of sections that this thread is in, by kind
std::atomic<bool> flag = false;
std::atomic<int> fork_count = 0;

class State {
 public:
  bool enter(Work work) {
    std::unique_lock lock(mutex_);
    if (work != Work::Making && (phase_ != Phase::Open || exits_)) return false;
    if (work == Work::Making && own[ordinal(work)] == 0 && !wait_until_open(lock)) return false;
    ++counts_[ordinal(work)];
    ++own[ordinal(work)];
    return true;
  }

  /// Parks a thread that exit() has waited for: it would continue in libraries that are being torn down.
  void leave(Work work) {
    std::unique_lock lock(mutex_);
    --counts_[ordinal(work)];
    --own[ordinal(work)];
    changed_.notify_all();
    if (work == Work::Making && own[ordinal(work)] == 0) wait_until_open(lock);
  }

  void close(Phase phase) {
    std::vector<std::function<void()>> last;
    {
      std::unique_lock lock(mutex_);
      if (phase_ == Phase::Ended) return;
      ender_ = std::this_thread::get_id();
      set(phase);
      // A signal handler may have called exit() in the middle of this thread's own work, which never
      // continues.
      const auto is_over = [&](Work work) {
        return [this, i = ordinal(work)] { return counts_[i] <= own[i]; };
      };
      changed_.wait(lock, is_over(Work::OpeningLlvm));
      changed_.wait(lock, is_over(Work::InLlvm));
      changed_.wait_for(lock, kPatience, is_over(Work::Making));
      changed_.wait(lock, is_over(Work::InLlvm));
      last = last_;
    }
    for (const auto& call : last) call();
  }

  void at_end(std::function<void()> last) {
    const std::scoped_lock lock(mutex_);
    last_.push_back(std::move(last));
  }

  void set_exits() {
    const std::scoped_lock lock(mutex_);
    exits_ = true;
  }
  bool exits() {
    const std::scoped_lock lock(mutex_);
    return exits_ || phase_ == Phase::Ended;
  }
  bool closed_by_this_thread() {
    const std::scoped_lock lock(mutex_);
    return phase_ != Phase::Open && std::this_thread::get_id() == ender_;
  }
  bool llvm_lost() const { return llvm_lost_; }
  void lock_for_fork() {
    std::unique_lock lock(mutex_);
    const auto opening = ordinal(Work::OpeningLlvm);
    changed_.wait_for(lock, kPatience, [&] { return counts_[opening] <= own[opening]; });
    lock.release();
  }
  void unlock() { mutex_.unlock(); }
  /// Called in a child of fork(), which has one thread and no waiters.
  State* copy_for_child() const {
    auto* state = new State;
    const auto llvm = ordinal(Work::InLlvm);
    state->llvm_lost_ = llvm_lost_ || counts_[llvm] > own[llvm];
    state->counts_ = own;
    state->last_ = last_;
    return state;
  }

 private:
  bool wait_until_open(std::unique_lock<std::mutex>& lock) {
    if (phase_ == Phase::Open || std::this_thread::get_id() == ender_) return phase_ == Phase::Open;
    changed_.wait_for(lock, kParked, [&] { return phase_ != Phase::Closing; });
    if (phase_ == Phase::Ended)
      changed_.wait_for(lock, kParkedAtTheEnd, [&] { return phase_ == Phase::Open; });
    if (phase_ == Phase::Closing) set(Phase::Open);  // the main thread has ended, the process has not
    return phase_ == Phase::Open;
  }
  void set(Phase phase) {
    phase_ = phase;
    flag = phase != Phase::Open;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  Phase phase_ = Phase::Open;
  std::thread::id ender_;
  Counts counts_{};
  bool llvm_lost_ = false;
  bool exits_ = false;  ///< LLVM's static objects are destroyed, or about to be
  std::vector<std::function<void()>> last_;
};

std::atomic<State*> current = nullptr;

/// Never destroyed. A child has a state of its own: waiters in its copy of the parent's would be threads that
/// do not exist.
State& state() {
  static const bool made = [] {
    current = new State;
    ::pthread_atfork([] { current.load()->lock_for_fork(); }, [] { current.load()->unlock(); },
                     [] {
                       flag = false;
                       ++fork_count;
                       auto* of_parent = current.load();
                       current = of_parent->copy_for_child();
                       of_parent->unlock();
                     });
    return true;
  }();
  (void)made;
  return *current;
}

void close() {
  state().set_exits();
  state().close(Phase::Closing);
}
void end() { state().close(Phase::Ended); }

/// exit() destroys the thread-local objects of its thread before anything else, hence also before static
/// objects that were created during work that is still going on, for which outlive_statics() is called too
/// early.
struct ThreadEnd {
  ~ThreadEnd() {
    if (::syscall(SYS_gettid) == ::getpid()) state().close(Phase::Closing);
  }
};
void watch_this_thread() { [[maybe_unused]] static thread_local const ThreadEnd end_of_it; }

/// As a rule the main thread loads the library.
[[maybe_unused]] const bool loaded = [] {
  watch_this_thread();
  state();
  std::atexit(end);
  return true;
}();

}  // namespace

Ending::Ending()
    : Error(ErrorCode::Compile, "exit", "the process is ending, so nothing more is compiled",
            "Compile what is called during exit before main() returns") {}

Section::Section(Work work) : work_(work) {
  watch_this_thread();
  entered_ = state().enter(work);
  if (!entered_ && work != Work::Making) throw Ending();
}

Section::~Section() {
  if (entered_) state().leave(work_);
}

bool llvm_lost() { return state().llvm_lost(); }

int forks() { return fork_count.load(std::memory_order_relaxed); }

bool begun_here() { return begun() && state().closed_by_this_thread(); }

bool begun() { return flag.load(std::memory_order_relaxed); }

void outlive_statics() { std::atexit(close); }

bool destroys_statics() { return state().exits(); }

void at_end(std::function<void()> last) { state().at_end(std::move(last)); }

}  // namespace antegrad::inline util::process_end
