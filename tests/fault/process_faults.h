#pragma once
// Programs that end, fork or run out of memory at awkward moments. Each runs as a process of its own
// (process_faults.sh); how the process ends is the result.
#include <antegrad/antegrad.h>
#include <torch/torch.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <string>

namespace antegrad::test {

using at::Tensor;

/// Many different kernels, so that there is a compilation to interrupt.
inline Tensor many_kernels(const Tensor& x, int parts) {
  auto y = x;
  for (int i = 0; i < 10 * parts; ++i) {
    y = (y * 1.1 + i).sin();
    if (i % 10 == 0) y = y + y.sum(0, true);
  }
  return y.sum();
}

inline Tensor small_net(const Tensor& x) { return (x.tanh() * x).sum(-1).exp(); }

inline Options uncached(Compile when = Compile::Blocking) {
  Options options;
  options.cache = Cache::Off;
  options.compile = when;
  return options;
}

/// Prints what is wrong and ends the process at once.
[[noreturn]] inline void wrong(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  ::_exit(3);
}

/// Allocates no memory.
inline void expect_close(const Tensor& found, const Tensor& expected, const char* where) {
  const auto a = found.contiguous(), b = expected.contiguous();
  const auto *x = a.const_data_ptr<float>(), *y = b.const_data_ptr<float>();
  bool same = a.sizes() == b.sizes();
  for (int64_t i = 0; same && i < a.numel(); ++i)
    same = std::abs(x[i] - y[i]) <= 1e-5 + 1e-4 * std::abs(y[i]);
  if (!same) wrong(std::string(where) + ": a wrong result");
}

/// `argument` is the time to wait in milliseconds, or the number of forks. The functions return the exit
/// status of the process, or end it themselves.
int run_exit_program(const std::string& name, int argument);
int run_fork_program(const std::string& name, int argument);
int run_memory_program(int megabytes);

}  // namespace antegrad::test
