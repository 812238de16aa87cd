#include "engine/phases.h"

namespace antegrad::engine {

PhaseClock*& PhaseClock::current() {
  thread_local PhaseClock* clock = nullptr;
  return clock;
}

}  // namespace antegrad::engine
