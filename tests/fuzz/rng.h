#pragma once
#include <cstdint>
#include <random>

namespace antegrad::fuzz {

/// The only source of randomness of the fuzzer. The standard specifies the engine and the ranges are computed
/// here, so a seed gives the same program with every compiler and standard library.
class Rng {
 public:
  bool awkward = false;  ///< small_number() often returns numbers that dtypes cannot hold

  explicit Rng(uint64_t seed) : engine_(seed * 0x9e3779b97f4a7c15u + 0x632be59bd9b4e019u) {}

  int64_t below(int64_t end) { return static_cast<int64_t>(engine_() % static_cast<uint64_t>(end)); }
  int64_t range(int64_t low, int64_t high) { return low + below(high - low + 1); }
  bool percent(int64_t chance) { return below(100) < chance; }
  uint64_t bits() { return engine_(); }

  template <typename List>
  const auto& pick(const List& list) {
    return list[static_cast<size_t>(below(static_cast<int64_t>(list.size())))];
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace antegrad::fuzz
