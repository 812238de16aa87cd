#pragma once
#include <unordered_map>

#include "aten/op_schema.h"
#include "capture/capture.h"

namespace antegrad::aot {

/// Refuses what in-place ops refuse: arguments that overlap the written one, unless they are the very same
/// memory. LibTorch cannot see it during a capture: its kernels do not run, and inputs on one storage are
/// separate fakes.
class OverlapCheck {
 public:
  explicit OverlapCheck(const capture::Trace& trace);
  /// Throws what eager throws.
  void check(const ir::Node& node, const aten::OpSchema& schema) const;

 private:
  int32_t storage_of(ir::ValueId value) const;  ///< equal for tensors on one storage

  const capture::Trace& trace_;
  std::unordered_map<int32_t, int32_t> shared_;  ///< the storage, by input that shares it with others
};

}  // namespace antegrad::aot
