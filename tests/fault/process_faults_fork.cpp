#include <sys/wait.h>

#include <functional>
#include <thread>

#include "process_faults.h"

namespace antegrad::test {
namespace {

constexpr unsigned kSecondsOfAChild = 60;

/// Runs `body` in a child, which must exit with status 0 in time.
void in_child(const char* what, const std::function<void()>& body) {
  const auto child = ::fork();
  if (child == 0) {
    ::alarm(kSecondsOfAChild);
    body();
    ::_exit(0);
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child) wrong("no child");
  if (WIFSIGNALED(status))
    wrong(std::string(what) + ": a child was ended by signal " + std::to_string(WTERMSIG(status)));
  if (WEXITSTATUS(status) != 0) wrong(std::string(what) + ": a child has failed");
}

/// The result is right, or antegrad throws an Error.
void call_or_throw(const std::function<Tensor(Tensor)>& f, const std::function<Tensor(Tensor)>& eager,
                   const Tensor& x) {
  try {
    expect_close(f(x), eager(x), "a child");
  } catch (const Error&) {
  }
}

Tensor busy(Tensor x) { return many_kernels(x, 30); }

}  // namespace

/// Forks at many moments while one thread compiles in the background and another in the foreground.
int run_fork_program(const std::string&, int forks) {
  auto known = compile(small_net, uncached());
  auto background = compile(busy, uncached(Compile::Background));
  const auto large = torch::full({2000, 300}, 0.1);
  const auto x = torch::linspace(-1, 1, 12).reshape({4, 3});
  known(x);
  known(large);
  background(torch::ones({9, 9}));
  std::atomic<bool> stop = false;
  std::thread other([&] {
    for (int i = 0; !stop; ++i)
      compile([i](Tensor y) { return many_kernels(y + i, 1); }, uncached())(torch::ones({5, 5}));
  });
  for (int i = 0; i < forks; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(7 * i % 50));
    in_child("exec", [] { ::execl("/bin/true", "true", static_cast<char*>(nullptr)); });
    in_child("exit", [] { std::exit(0); });
    in_child("call", [&] {
      const auto y = x.clone().requires_grad_();
      known(y).sum().backward();
      expect_close(known(x), small_net(x), "a child");
      expect_close(known(large), small_net(large), "a child, many elements");
    });
    in_child("compile", [&] {
      call_or_throw([&](Tensor t) { return background(t); }, busy, torch::ones({9, 9}));
      call_or_throw([&](Tensor t) { return known(t); }, small_net, torch::ones({6, 2}));
      auto fresh = compile([](Tensor t) { return small_net(t) + 1; }, uncached());
      expect_close(fresh(x), small_net(x) + 1, "a function of the child");
      std::exit(0);
    });
  }
  stop = true;
  other.join();
  return 0;
}

}  // namespace antegrad::test
