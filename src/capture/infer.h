#pragma once
#include <ATen/core/stack.h>

#include <cstdint>
#include <map>
#include <string>

#include "aten/op_schema.h"

namespace antegrad::capture {

/// How the result types of a capture were inferred.
struct InferenceCounts {
  uint64_t meta_kernels = 0;
  uint64_t rules = 0;
  std::map<std::string, uint64_t> real_kernels;  ///< per op: runs of the real kernel on zeros, the slow way
};

/// Replaces the op's arguments on the stack (tensors on the meta device) by its results (likewise): by a rule
/// (rules/), else by its meta kernel, else by running the CPU kernel on zeros; for foreign ops see
/// infer_foreign_results. Throws what the kernel throws on bad arguments, and Error(DataDependentShape) when
/// the sizes of the results depend on data.
void infer_results(const aten::OpSchema& schema, torch::jit::Stack& stack, InferenceCounts& counts);

}  // namespace antegrad::capture
