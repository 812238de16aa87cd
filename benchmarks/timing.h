#pragma once
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <vector>

namespace antegrad::benchmarks {

using Clock = std::chrono::steady_clock;

inline double nanoseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

inline double median(std::vector<double> samples) {
  if (samples.empty()) return 0;
  auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  return *middle;
}

/// Times several ways of doing one thing in turns, so that all run under the same conditions, and returns the
/// median of each in ns.
inline std::vector<double> medians_in_turns(const std::vector<std::function<void()>>& ways, double seconds,
                                            size_t fewest = 5) {
  for (const auto& way : ways) way();
  std::vector<std::vector<double>> samples(ways.size());
  const auto start = Clock::now();
  while (nanoseconds_since(start) < seconds * 1e9 || samples[0].size() < fewest)
    for (size_t i = 0; i < ways.size(); ++i) {
      const auto before = Clock::now();
      ways[i]();
      samples[i].push_back(nanoseconds_since(before));
    }
  std::vector<double> medians;
  for (auto& way : samples) medians.push_back(median(std::move(way)));
  return medians;
}

}  // namespace antegrad::benchmarks
