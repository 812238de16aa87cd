#pragma once
#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

/// Random programs over sizes that change from call to call. A program is a list of steps that are the same
/// at every size; what a step does with sizes it reads from its operands, as user code does.
namespace antegrad::fuzz {

struct DynamicOp;  // dynamic_op.h
using Tensors = std::vector<at::Tensor>;
using Ints = std::vector<int64_t>;
/// A value for each symbol.
using Assignment = std::vector<int64_t>;

/// factor * symbol + offset; without a symbol: offset.
struct SizeForm {
  int symbol = -1;
  int64_t factor = 1;
  int64_t offset = 0;
  int64_t at(const Assignment& values) const;
};

enum class DynamicLayout { Contiguous, Transposed, Narrowed, Strided, Expanded, ChannelsLast };

struct DynamicInput {
  std::vector<SizeForm> sizes;
  DynamicLayout layout = DynamicLayout::Contiguous;
  int64_t dim = 0;       ///< that the layout is about
  int64_t bound = 0;     ///< not 0: whole numbers below it
  bool gradient = true;  ///< one with respect to it is asked for
  bool leaf = true;      ///< else a copy of one, which may be written
};

/// A variable: an input, or op(args, ints).
struct DynamicStep {
  DynamicInput input;
  const DynamicOp* op = nullptr;  ///< null: an input
  std::vector<int> args;          ///< earlier variables
  Ints ints;                      ///< what they mean is the op's business
};

struct DynamicProgram {
  uint64_t seed = 0;
  at::ScalarType dtype = at::kDouble;
  bool second_order = false;  ///< derivatives of the gradients are compared, too
  std::vector<DynamicStep> steps;
  std::vector<int> outputs;
  std::vector<Assignment> calls;  ///< the sizes that it is called with, in order
};

/// Inputs of one call, and the leaves that gradients are taken with respect to.
struct DynamicInputs {
  Tensors inputs, leaves;
};
/// The numbers depend on the program's seed, the sizes, and `salt`.
DynamicInputs make_inputs(const DynamicProgram& program, const Assignment& sizes, uint64_t salt);
at::Tensor make_input(const DynamicInput& input, at::ScalarType dtype, const Assignment& sizes,
                      uint64_t seed);

/// Calls ATen only, so it can be captured. Takes the inputs in order.
Tensors run(const DynamicProgram& program, const Tensors& inputs);
/// All variables. `reached` gets the number of the newest step that was begun.
Tensors run_all(const DynamicProgram& program, const Tensors& inputs, size_t* reached = nullptr);

/// A program that runs at usual sizes. Where a size is unusual (0, 1, odd) it may throw.
DynamicProgram generate_dynamic(uint64_t seed);

/// Which steps outputs need more of than sizes, or write.
std::vector<bool> live_steps(const DynamicProgram& program);
/// The same without what no output needs; what writes is needed.
DynamicProgram without_dead_steps(const DynamicProgram& program);

std::string to_string(const DynamicProgram& program);
std::string sizes_text(const Assignment& sizes);

}  // namespace antegrad::fuzz
