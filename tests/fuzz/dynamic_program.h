#pragma once
#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

/// Random programs with sizes that change from call to call. A program is a list of steps that are the same
/// at every size; a step reads sizes from its operands, as user code does.
namespace antegrad::fuzz {

struct DynamicOp;  // dynamic_op.h
using Tensors = std::vector<at::Tensor>;
using Ints = std::vector<int64_t>;
/// One value per symbol.
using Assignment = std::vector<int64_t>;

/// factor * symbol + offset, or offset alone without a symbol.
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
  int64_t dim = 0;       ///< the dim that the layout concerns
  int64_t bound = 0;     ///< unless 0, the elements are whole numbers below it
  bool gradient = true;  ///< gradients with respect to it are compared
  bool leaf = true;      ///< otherwise a copy of a leaf, which may be written to
};

/// A variable: either an input or op(args, ints).
struct DynamicStep {
  DynamicInput input;
  const DynamicOp* op = nullptr;  ///< null for an input
  std::vector<int> args;          ///< earlier variables
  Ints ints;                      ///< each op defines their meaning
};

struct DynamicProgram {
  uint64_t seed = 0;
  at::ScalarType dtype = at::kDouble;
  bool second_order = false;  ///< also compares derivatives of the gradients
  std::vector<DynamicStep> steps;
  std::vector<int> outputs;
  std::vector<Assignment> calls;  ///< the sizes of its calls, in order
};

/// The inputs of one call, and the leaves for which gradients are computed.
struct DynamicInputs {
  Tensors inputs, leaves;
};
/// Makes numbers that depend on the program's seed, the sizes and `salt`.
DynamicInputs make_inputs(const DynamicProgram& program, const Assignment& sizes, uint64_t salt);
at::Tensor make_input(const DynamicInput& input, at::ScalarType dtype, const Assignment& sizes,
                      uint64_t seed);

/// Runs the program on its inputs, in order. Calls ATen only, so that it can be captured.
Tensors run(const DynamicProgram& program, const Tensors& inputs);
/// Returns all variables. Sets `reached` to the last step that was started.
Tensors run_all(const DynamicProgram& program, const Tensors& inputs, size_t* reached = nullptr);

/// Generates a program that runs at usual sizes. At unusual sizes (0, 1, odd ones) it may throw.
DynamicProgram generate_dynamic(uint64_t seed);

/// Marks the steps that write, and those of which outputs need more than the sizes.
std::vector<bool> live_steps(const DynamicProgram& program);
/// Returns the program without steps that no output needs; steps that write are kept.
DynamicProgram without_dead_steps(const DynamicProgram& program);

std::string to_string(const DynamicProgram& program);
std::string sizes_text(const Assignment& sizes);

}  // namespace antegrad::fuzz
