#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

#include "util/ids.h"

namespace antegrad::cache {

/// The outcome of a lookup.
enum class Outcome {
  Hit,
  Miss,       ///< absent, unreadable by this version, or unreachable
  GuardMiss,  ///< present, but for other sizes or another state
  Bypass,     ///< not looked up, because it cannot be cached
  Corrupt,    ///< present, but damaged
  Refused,    ///< present, but not trusted: no MAC or a wrong one, or a file that others may have written
};
constexpr size_t kOutcomes = 6;

/// Returns "hit", "miss", "guard miss", "bypass", "corrupt" or "refused".
std::string_view outcome_name(Outcome outcome);

/// How often each outcome occurred.
struct Counters {
  uint64_t hits = 0;
  uint64_t misses = 0;
  uint64_t guard_misses = 0;
  uint64_t bypasses = 0;
  uint64_t corrupt = 0;
  uint64_t refused = 0;

  friend bool operator==(const Counters&, const Counters&) = default;
};

/// Counters that may be incremented by many threads.
class OutcomeCounter {
 public:
  void add(Outcome outcome) { counts_[ordinal(outcome)].fetch_add(1, std::memory_order_relaxed); }
  Counters counters() const;

 private:
  std::array<std::atomic<uint64_t>, kOutcomes> counts_{};
};

}  // namespace antegrad::cache
