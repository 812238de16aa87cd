#pragma once
#include <unordered_map>

#include "capture/capture.h"
#include "capture/op_schema.h"

namespace antegrad::aot {

/// In-place ops refuse arguments that overlap with what they write, unless it is the very same memory.
/// LibTorch does not see it during a capture: its kernels do not run, and inputs on one storage are separate
/// tensors.
class OverlapCheck {
 public:
  explicit OverlapCheck(const capture::Trace& trace);
  /// Throws what eager throws.
  void check(const ir::Node& node, const capture::OpSchema& schema) const;

 private:
  int32_t storage_of(ir::ValueId value) const;  ///< a number that tensors on one storage have in common

  const capture::Trace& trace_;
  std::unordered_map<int32_t, int32_t> shared_;  ///< by input that is not alone on its storage: the storage
};

}  // namespace antegrad::aot
