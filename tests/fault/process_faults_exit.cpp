#include <pthread.h>

#include <chrono>
#include <functional>
#include <map>
#include <thread>

#include "process_faults.h"

namespace antegrad::test {
namespace {

using std::chrono::milliseconds;

void wait(int ms) { std::this_thread::sleep_for(milliseconds(ms)); }

/// Two static objects, one made before a function and one after it, measure how long its destructor takes.
/// exit() has waited for the running job by then, and a thread that it has stopped must hold no lock.
struct DestructorTime {
  using Clock = std::chrono::steady_clock;
  struct Begin {
    explicit Begin(DestructorTime& time) : time_(time) {}
    ~Begin() { time_.begin_ = Clock::now(); }
    DestructorTime& time_;
  };
  ~DestructorTime() {
    if (Clock::now() - begin_ > milliseconds(1900)) wrong("a static function waits for a stopped thread");
  }
  Clock::time_point begin_;
};

int static_function_in_background(int ms) {
  static DestructorTime time;
  static auto f = compile([](Tensor x) { return many_kernels(x, 20); }, uncached(Compile::Background));
  static const DestructorTime::Begin begin(time);
  f(torch::ones({9, 9}));
  wait(ms);
  return 0;
}

int local_functions_in_background(int ms) {
  auto f = compile([](Tensor x) { return many_kernels(x, 3); }, uncached(Compile::Background));
  auto g = compile([](Tensor x) { return many_kernels(x.cos(), 3); }, uncached(Compile::Background));
  f(torch::ones({9, 9}));
  g(torch::ones({9, 9}));
  wait(ms);
  return 0;
}

/// A detached thread captures and compiles forward and backward passes forever.
void compile_for_ever() {
  auto options = uncached();
  options.backward_ahead = true;
  for (int i = 1;; ++i)
    compile([i](Tensor x) { return many_kernels(x * i, 3); }, options)(torch::ones({9, 9}).requires_grad_());
}

int detached_thread(int ms) {
  std::thread(compile_for_ever).detach();
  wait(ms);
  return 0;
}

/// LLVM is loaded by then, and creates static objects in the middle of compilations.
int exit_in_another_thread(int ms) {
  compile(small_net, uncached())(torch::ones({4, 3}));
  std::thread(compile_for_ever).detach();
  std::thread([ms] {
    wait(ms);
    std::exit(0);
  }).detach();
  for (;;) wait(1000);
}

/// Destroyed by exit(): joins a thread that may be compiling.
struct JoinedLate {
  std::thread thread;
  ~JoinedLate() {
    if (thread.joinable()) thread.join();
  }
};

int joined_by_a_static(int ms) {
  static JoinedLate late;
  late.thread = std::thread([] {
    for (int i = 0; i < 3; ++i) {
      auto f = compile([i](Tensor x) { return many_kernels(x * i, 2); }, uncached());
      expect_close(f(torch::ones({9, 9})), many_kernels(torch::ones({9, 9}) * i, 2),
                   "a thread that is joined");
    }
  });
  wait(ms);
  return 0;
}

/// Calls functions, compiled ones and new ones, while static objects are destroyed. (LibTorch's engine has no
/// thread-local objects left then: backward passes crash, eager ones too.)
struct CallsLate {
  std::function<Tensor(Tensor)> known, unknown;
  ~CallsLate() {
    for (const int size : {4, 7}) {  // the first size is already compiled
      const auto x = torch::linspace(-1, 1, size * 3).reshape({size, 3});
      expect_close(known(x), small_net(x), "a static destructor");
      expect_close(unknown(x), small_net(x) * 2, "a new function in a static destructor");
    }
  }
};

int calls_from_a_static(int) {
  static CallsLate late;
  late.known = compile(small_net, uncached());
  late.unknown = compile([](Tensor x) { return small_net(x) * 2; }, uncached());
  late.known(torch::ones({4, 3}));
  return 0;
}

/// The main thread ends but the process does not: other threads go on compiling.
int main_thread_ends(int) {
  std::thread([] {
    for (int i = 0; i < 4; ++i) {
      auto f = compile([i](Tensor x) { return many_kernels(x * i, 1); }, uncached());
      expect_close(f(torch::ones({9, 9})), many_kernels(torch::ones({9, 9}) * i, 1), "after the main thread");
      wait(300);
    }
    std::exit(0);
  }).detach();
  ::pthread_exit(nullptr);
}

}  // namespace

int run_exit_program(const std::string& name, int argument) {
  const std::map<std::string, int (*)(int)> programs = {
      {"static_function_in_background", static_function_in_background},
      {"local_functions_in_background", local_functions_in_background},
      {"detached_thread", detached_thread},
      {"exit_in_another_thread", exit_in_another_thread},
      {"joined_by_a_static", joined_by_a_static},
      {"calls_from_a_static", calls_from_a_static},
      {"main_thread_ends", main_thread_ends}};
  return programs.at(name)(argument);
}

}  // namespace antegrad::test
