#include "optim/update_kernel.h"

#include <c10/util/SmallVector.h>

#include <algorithm>

#include "antegrad/error.h"
#include "runtime/plan/overwrite.h"
#include "runtime/plan/placement.h"

namespace antegrad::optim {
namespace {

[[noreturn]] void refuse_kernel(const std::string& fact) {
  throw Error(ErrorCode::Internal, "optimizer", fact, "Use Backend::Eager, and report it");
}

/// Returns the operand of each value that is an input or an output of the graph, else -1.
ir::PerValue<int32_t> operands_of(const ir::Graph& graph) {
  ir::PerValue<int32_t> operands(graph.values.size(), -1);
  int32_t next = 0;
  for (const auto& input : graph.inputs) operands[input.value] = next++;
  for (const auto& output : graph.outputs)
    operands[output.value] = output.role == ir::OutputRole::MutatedInput ? output.target : next++;
  return operands;
}

/// An output on the memory of an input must not be written before others have read it.
void check_in_place(const schedule::Kernel& kernel, const std::vector<int32_t>& operands) {
  const auto passed = runtime::passed_buffers(kernel);
  for (size_t in = 0; in < passed.size(); ++in)
    for (size_t out = 0; out < passed.size(); ++out)
      if (in != out && operands[in] == operands[out] &&
          kernel.buffers[passed[out]].kind == schedule::Buffer::Kind::Output &&
          !runtime::may_overwrite(kernel, passed[in], passed[out], {int64_t{1} << 20, int64_t{1} << 10}))
        refuse_kernel("a kernel of an optimizer's step cannot write in place");
}

/// Nor by an earlier kernel. `written`: by earlier ones; adds those that this one writes.
void check_order(const schedule::Kernel& kernel, const std::vector<int32_t>& operands,
                 std::vector<int32_t>& written) {
  const auto passed = runtime::passed_buffers(kernel);
  const auto earlier = written;
  for (size_t i = 0; i < passed.size(); ++i)
    if (kernel.buffers[passed[i]].kind == schedule::Buffer::Kind::Output)
      written.push_back(operands[i]);
    else if (std::count(earlier.begin(), earlier.end(), operands[i]) > 0)
      refuse_kernel("a kernel of an optimizer's step reads what an earlier one has written");
}

}  // namespace

void FlatKernel::run(void* const* pointers, const int64_t* dims, int64_t begin, int64_t end) const {
  for (const auto& part : parts) {
    c10::SmallVector<void*, 12> buffers;
    for (auto operand : part.operands) buffers.push_back(pointers[operand]);
    part.code.function(buffers.data(), dims, begin, end);
  }
}

std::vector<FlatStep> flat_steps(const schedule::Program& program) {
  const auto operands = operands_of(program.graph);
  std::vector<FlatStep> steps;
  std::vector<int32_t> written;
  for (const auto& step : program.steps) {
    const auto* call = std::get_if<schedule::RunKernel>(&step);
    if (call == nullptr) refuse_kernel("the step of an optimizer calls LibTorch");
    auto& flat = steps.emplace_back(FlatStep{call->kernel, {}});
    for (auto value : call->buffers) flat.operands.push_back(operands[value]);
    if (std::count(flat.operands.begin(), flat.operands.end(), -1) > 0)
      refuse_kernel("a kernel of an optimizer's step has a temporary");
    check_in_place(program.kernel_of(*call), flat.operands);
    check_order(program.kernel_of(*call), flat.operands, written);
  }
  for (const auto& output : program.graph.outputs)
    if (std::count(written.begin(), written.end(), operands[output.value]) == 0)
      refuse_kernel("the step of an optimizer does not write all of its results");
  return steps;
}

FlatKernel flat_kernel(const compiler::Lowered& code) {
  FlatKernel flat;
  for (auto& step : flat_steps(code.program()))
    flat.parts.push_back({code.kernels()[step.kernel].code, std::move(step.operands)});
  return flat;
}

}  // namespace antegrad::optim
