#include "optim/device_kernels.h"

#include <ATen/Context.h>
#include <fmt/format.h>

#include <algorithm>

#include "codegen/cuda/kernel_source.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "optim/update_kernel.h"

namespace antegrad::optim {

using codegen::cuda::TablePart;
using codegen::cuda::TableText;

TableText update_text(const Formula& formula, const schedule::Program& program,
                      const schedule::DeviceFacts& facts, bool vectors) {
  const auto tensors = 2 + states(formula);
  std::vector<TablePart> parts;
  for (auto& step : flat_steps(program)) {
    TablePart part{program.kernels[step.kernel], {}, std::move(step.operands)};
    part.mapping = codegen::cuda::map_part(part.kernel, facts, vectors);
    for (auto& operand : part.operands)
      if (operand >= tensors) operand = operand == tensors ? TablePart::kNumbers : TablePart::kScale;
    parts.push_back(std::move(part));
  }
  const auto bytes = kNumbers * ir::size_in_bytes(computed_type(formula));
  return codegen::cuda::table_source(kTableFunction, parts, tensors,
                                     static_cast<int32_t>(bytes / static_cast<int64_t>(sizeof(uint64_t))));
}

DeviceKernels::Kernel DeviceKernels::make(const std::string& name, const TableText& text, c10::Device device,
                                          int64_t shared_bytes) const {
  const auto loaded = lowering_.cuda_kernel(name, codegen::cuda::for_device(text.text),
                                            toolchain::cuda::device_facts(device.index()));
  loaded.code.cuda->module->prepare(device.index(), shared_bytes);
  return {name, loaded.code.cuda->module, text.shape};
}

const DeviceKernels::Kernel& DeviceKernels::update(const Formula& formula, bool scale_on_device, bool vectors,
                                                   c10::Device device) {
  const std::tuple key(formula, scale_on_device, vectors, static_cast<int>(device.index()));
  if (const auto found = updates_.find(key); found != updates_.end()) return found->second;
  auto graph = ir::parse(device_graph_text(formula, scale_on_device));
  for (auto& value : graph.values)
    if (auto* tensor = value.type.tensor()) tensor->device.index = device.index();
  ir::verify(graph);
  lowering_.prepare(graph);
  const auto program = lowering_.program(graph, at::globalContext().deterministicAlgorithms());
  const auto text = update_text(formula, program, toolchain::cuda::device_facts(device.index()), vectors);
  auto kernel = make("optimizer_step", text, device, 0);
  const bool is_new = std::ranges::none_of(
      updates_, [&](const auto& known) { return std::get<Formula>(known.first) == formula; });
  formulas_ += is_new ? 1 : 0;
  return updates_.emplace(key, std::move(kernel)).first->second;
}

const DeviceKernels::Kernel& DeviceKernels::norm(codegen::cuda::NormKind kind, ir::DType dtype, bool vectors,
                                                 c10::Device device) {
  const std::tuple key(kind, dtype, vectors, static_cast<int>(device.index()));
  if (const auto found = norms_.find(key); found != norms_.end()) return found->second;
  const auto text = codegen::cuda::norm_source(kTableFunction, kind, dtype, vectors);
  return norms_.emplace(key, make("gradient_norm", text, device, runtime::cuda::kNormSharedBytes))
      .first->second;
}

const DeviceKernels::Kernel& DeviceKernels::norm_end(c10::Device device) {
  if (const auto found = norm_ends_.find(device.index()); found != norm_ends_.end()) return found->second;
  const TableText text{codegen::cuda::norm_end_source(kTableFunction), {}};
  return norm_ends_
      .emplace(device.index(), make("gradient_norm_end", text, device, runtime::cuda::kNormSharedBytes))
      .first->second;
}

}  // namespace antegrad::optim
