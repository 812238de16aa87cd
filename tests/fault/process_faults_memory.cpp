#include <sys/resource.h>

#include <fstream>
#include <functional>
#include <vector>

#include "process_faults.h"

namespace antegrad::test {
namespace {

size_t address_space() {
  std::ifstream file("/proc/self/statm");
  size_t pages = 0;
  file >> pages;
  return pages * static_cast<size_t>(::sysconf(_SC_PAGESIZE));
}

struct Program {
  std::string name;
  std::function<Tensor(Tensor)> eager;
  Tensor input;
};

std::vector<Program> programs() {
  return {{"a small one", small_net, torch::rand({8, 16})},
          {"softmax", [](Tensor x) { return at::softmax(x * 2, 1).pow(2).sum(0); }, torch::rand({32, 64})},
          {"products", [](Tensor x) { return at::mm(x.sin(), x.t().cos()).relu().mean(1); },
           torch::rand({48, 48})},
          {"16 MB", [](Tensor x) { return (x * 2 + 1).sin() * x; }, torch::rand({1024, 4096})},
          {"many kernels", [](Tensor x) { return many_kernels(x, 3); }, torch::rand({9, 9})}};
}

/// Returns false when memory ran out; nothing has changed then.
bool trains(const Program& program, const std::function<Tensor(Tensor)>& f, const Tensor& x,
            const Tensor& result, const Tensor& gradient) {
  x.mutable_grad() = Tensor();
  bool done = false;
  try {
    const auto found = f(x);
    found.sum().backward();
    expect_close(found, result, program.name.c_str());
    expect_close(x.grad(), gradient, program.name.c_str());
    done = true;
  } catch (const Error&) {
  } catch (const std::bad_alloc&) {
  } catch (const c10::Error&) {  // LibTorch's for an allocation
  }
  expect_close(x, program.input, "an input");
  if (!done && x.grad().defined()) wrong(program.name + ": a gradient of a call that has failed");
  return done;
}

}  // namespace

/// With this much address space left, each call gives a right result or throws, and a call that has worked
/// works again.
int run_memory_program(int megabytes) {
  at::set_num_threads(2);
  struct Tested {
    Program program;
    std::function<Tensor(Tensor)> f;
    Tensor input, result, gradient;
    bool worked = false;
  };
  std::vector<Tested> all;
  for (auto& program : programs()) {
    const auto x = program.input.clone().requires_grad_();
    const auto result = program.eager(x);
    result.sum().backward();
    all.push_back({program, compile(program.eager, uncached()), program.input.clone().requires_grad_(),
                   result.detach(), x.grad().clone()});
  }
  const size_t left = static_cast<size_t>(megabytes) << 20;
  const rlimit limit = {address_space() + left, RLIM_INFINITY};
  if (::setrlimit(RLIMIT_AS, &limit) != 0) wrong("no limit");
  int worked = 0;
  for (int round = 0; round < 3; ++round)
    for (auto& one : all) {
      const bool now = trains(one.program, one.f, one.input, one.result, one.gradient);
      if (one.worked && !now) wrong(one.program.name + ": it has worked, and does not any more");
      worked += now && !one.worked;
      one.worked = now;
    }
  std::printf("%d MB left: %d of %zu work\n", megabytes, worked, all.size());
  return 0;
}

}  // namespace antegrad::test
