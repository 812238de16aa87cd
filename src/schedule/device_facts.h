#pragma once
#include <cstdint>

namespace antegrad::schedule {

/// What plans and kernels for a CUDA device depend on. The defaults are those of an H200.
struct DeviceFacts {
  int32_t capability = 90;  ///< major * 10 + minor
  int32_t multiprocessors = 132;
  int32_t threads_per_multiprocessor = 2048;
  int64_t shared_per_block = 232448;  ///< bytes of shared memory, with opt-in
  int64_t l2_bytes = int64_t{60} << 20;
  bool operator==(const DeviceFacts&) const = default;
};

}  // namespace antegrad::schedule
