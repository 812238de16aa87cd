#pragma once
// Code that the examples share: arguments, a log with a progress bar, a stopwatch.
#include <torch/torch.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

namespace example {

/// Returns the N of "--steps N", or `otherwise`.
inline int steps(int argc, char** argv, int otherwise) {
  for (int i = 1; i + 1 < argc; ++i)
    if (std::strcmp(argv[i], "--steps") == 0) return std::max(1, std::atoi(argv[i + 1]));
  return otherwise;
}

/// Returns the first argument that is not an option, or `otherwise`.
inline std::string file(int argc, char** argv, const std::string& otherwise) {
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--steps") == 0)
      ++i;
    else
      return argv[i];
  }
  return otherwise;
}

/// Prints about ten numbers over a run and, on a terminal, a progress bar in between.
class Log {
 public:
  Log(std::string what, int steps)
      : what_(std::move(what)), steps_(steps), terminal_(isatty(STDOUT_FILENO) == 1) {}

  void operator()(double number) {
    numbers_.push_back(number);
    const int step = static_cast<int>(numbers_.size());
    if (step == 1 || step == steps_ || step % std::max(1, steps_ / 10) == 0)
      std::printf("%sstep %5d   %s %.4g\n", terminal_ ? "\r\033[K" : "", step, what_.c_str(), number);
    if (terminal_ && step < steps_) draw(step);
    std::fflush(stdout);
  }

  /// Returns the means of the first and of the last tenth of the numbers.
  double first() const { return mean(0); }
  double last() const { return mean(numbers_.size() - tenth()); }

 private:
  void draw(int step) const {
    constexpr int kWidth = 40;
    const int full = kWidth * step / steps_;
    std::printf("\r\033[K[%s%s] %d of %d", std::string(full, '#').c_str(),
                std::string(kWidth - full, '.').c_str(), step, steps_);
  }
  size_t tenth() const { return (numbers_.size() + 9) / 10; }
  double mean(size_t begin) const {
    const auto from = numbers_.begin() + static_cast<std::ptrdiff_t>(begin);
    return std::accumulate(from, from + static_cast<std::ptrdiff_t>(tenth()), 0.0) /
           static_cast<double>(tenth());
  }

  std::string what_;
  int steps_;
  bool terminal_;
  std::vector<double> numbers_;
};

template <class Work>
double milliseconds(const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

/// Runs both in turns for a second or two and prints the medians. The first turn is a warm-up.
template <class Compiled, class Eager>
void compare_times(const char* what, const Compiled& compiled, const Eager& eager) {
  std::vector<double> compiled_ms, eager_ms;
  double spent_ms = 0;
  for (int turn = 0; turn <= 5 || (spent_ms < 1500 && turn <= 1000); ++turn) {
    const double first = milliseconds(compiled), second = milliseconds(eager);
    spent_ms += first + second;
    if (turn == 0) continue;
    compiled_ms.push_back(first);
    eager_ms.push_back(second);
  }
  const auto median = [](std::vector<double>& times) {
    std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
    return times[times.size() / 2];
  };
  const double a = median(compiled_ms), b = median(eager_ms);
  std::printf("%s: %.3f ms compiled, %.3f ms eagerly, %.2f times as fast (medians of %zu, in turns)\n", what,
              a, b, b / a, compiled_ms.size());
}

/// Returns the largest difference of two tensors, relative to the largest number in the second.
inline double difference(const at::Tensor& a, const at::Tensor& b) {
  const auto scale = b.detach().abs().max().item<double>();
  return (a.detach() - b.detach()).abs().max().item<double>() / std::max(scale, 1e-30);
}

}  // namespace example
