#include "cache/directory/outcome.h"

namespace antegrad::cache {

std::string_view outcome_name(Outcome outcome) {
  switch (outcome) {
    case Outcome::Hit:
      return "hit";
    case Outcome::Miss:
      return "miss";
    case Outcome::GuardMiss:
      return "guard miss";
    case Outcome::Bypass:
      return "bypass";
    case Outcome::Corrupt:
      return "corrupt";
    case Outcome::Refused:
      return "refused";
  }
  return "unknown";
}

Counters OutcomeCounter::counters() const {
  const auto of = [&](Outcome outcome) { return counts_[ordinal(outcome)].load(std::memory_order_relaxed); };
  return {of(Outcome::Hit),    of(Outcome::Miss),    of(Outcome::GuardMiss),
          of(Outcome::Bypass), of(Outcome::Corrupt), of(Outcome::Refused)};
}

}  // namespace antegrad::cache
