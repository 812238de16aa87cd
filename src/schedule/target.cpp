#include "schedule/target.h"

namespace antegrad::schedule {

Target cpu_target() { return {}; }

}  // namespace antegrad::schedule
