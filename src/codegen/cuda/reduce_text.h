#pragma once
// How threads combine their partial results.
#include <string>
#include <vector>

#include "codegen/cuda/kernel_plan.h"
#include "codegen/text/names.h"
#include "codegen/text/writer.h"

namespace antegrad::codegen::cuda {

/// A variable that every thread of a group has its own value of.
struct Partial {
  std::string variable;
  ir::DType type = ir::DType::F32;
  schedule::Combine combine = schedule::Combine::Sum;
};

/// Prints statements after which each thread has the combined value of the threads of its row. `slots` is the
/// name of a pointer to shared memory; `used_next` says whether the next combination uses the same.
void print_row_combination(Writer& out, const Mapping& mapping, const std::vector<Partial>& partials,
                           const std::string& slots, bool used_next);
/// The same for all threads of a block; only the first thread has the result.
void print_block_combination(Writer& out, const Mapping& mapping, const Partial& partial,
                             const std::string& slots);
/// Prints a barrier for the threads of a row.
void print_barrier(Writer& out, const Mapping& mapping);

}  // namespace antegrad::codegen::cuda
