#pragma once
#include <antegrad/options.h>

namespace antegrad::test {

/// Options of a function whose captured tensors are constants.
inline Options frozen() {
  Options options;
  options.freeze = true;
  return options;
}

}  // namespace antegrad::test
