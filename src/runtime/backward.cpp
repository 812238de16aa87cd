#include "runtime/backward.h"

#include <ATen/ops/empty_strided.h>

#include <algorithm>

#include "capture/convert.h"
#include "capture/guards.h"
#include "passes/dead_code.h"

namespace antegrad::runtime {
namespace {

at::Tensor empty_of(const ir::TensorType& type) {
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
  for (const auto& size : type.sizes) sizes.push_back(size.constant());
  for (const auto& stride : type.strides) strides.push_back(stride.constant());
  return at::empty_strided(
      sizes, strides,
      at::TensorOptions().dtype(capture::to_torch(type.dtype)).device(capture::to_torch(type.device)));
}

bool has_layout(const at::Tensor& tensor, const ir::TensorType& type) {
  const auto strides = tensor.strides();
  for (size_t d = 0; d < strides.size(); ++d)
    if (strides[d] != type.strides[d].constant()) return false;
  return true;
}

}  // namespace

Backward::Backward(partition::Partition partition, const aot::Signature& signature,
                   std::vector<int32_t> primals)
    : graph_(std::move(partition.backward)), primals_(std::move(primals)), gradients_(signature.gradients) {
  size_t inputs = 0;
  for (const auto& saved : partition.saved) inputs += saved.input >= 0 ? 1 : 0;
  for (const auto& saved : partition.saved) {
    if (saved.input >= 0) {
      place_of_input_.push_back(saved_slots_.size());
      saved_slots_.push_back(signature.graph_inputs[static_cast<size_t>(saved.input)]);
    } else {
      place_of_input_.push_back(inputs + saved_results_.size());
      saved_results_.push_back(saved.output);
    }
  }
  for (const auto& input : graph_.inputs)
    if (input.role == ir::InputRole::Tangent) tangent_types_.push_back(graph_.tensor_type(input.value));
  find_dependencies();
}

void Backward::find_dependencies() {
  const auto tangents = tangent_types_.size();
  std::vector<std::vector<bool>> of_value(graph_.values.size(), std::vector<bool>(tangents));
  size_t next = 0;
  for (const auto& input : graph_.inputs)
    if (input.role == ir::InputRole::Tangent) of_value[static_cast<size_t>(input.value.index)][next++] = true;
  for (const auto& node : graph_.nodes) {
    std::vector<bool> all(tangents);
    ir::for_each_input(node, [&](ir::ValueId v) {
      const auto& one = of_value[static_cast<size_t>(v.index)];
      for (size_t k = 0; k < tangents; ++k) all[k] = all[k] || one[k];
    });
    for (auto v : node.outputs) of_value[static_cast<size_t>(v.index)] = all;
  }
  for (const auto& output : graph_.outputs)
    depends_.push_back(output.value.valid() ? of_value[static_cast<size_t>(output.value.index)]
                                            : std::vector<bool>(tangents));
}

std::shared_ptr<const Executable> Backward::executable(const std::vector<bool>& wanted) const {
  std::scoped_lock lock(mutex_);
  auto& slot = executables_[wanted];
  if (slot) return slot;
  auto graph = graph_;
  for (size_t i = 0; i < wanted.size(); ++i)
    if (!wanted[i]) graph.outputs[i].value = {};
  passes::dead_code(graph);
  return slot = std::make_shared<const Executable>(graph);
}

at::Tensor Backward::fit(const at::Tensor& tangent, size_t index) const {
  const auto& type = tangent_types_[index];
  if (!tangent.defined()) return empty_of(type).zero_();
  const auto plain = tangent.resolve_conj().resolve_neg();
  return has_layout(plain, type) ? plain : empty_of(type).copy_(plain);
}

std::vector<at::Tensor> Backward::run(std::vector<at::Tensor> saved, std::vector<at::Tensor> tangents,
                                      const std::vector<bool>& wanted) const {
  auto effective = wanted;
  for (size_t i = 0; i < effective.size(); ++i) {
    bool reached = false;
    for (size_t k = 0; k < tangents.size(); ++k)
      reached = reached || (depends_[i][k] && tangents[k].defined());
    const bool constant = std::none_of(depends_[i].begin(), depends_[i].end(), [](bool b) { return b; });
    effective[i] = effective[i] && graph_.outputs[i].value.valid() && (reached || constant);
  }
  const auto code = executable(effective);
  std::vector<at::Tensor> inputs;
  inputs.reserve(graph_.inputs.size());
  {
    capture::BelowRecording below;
    for (auto place : place_of_input_) inputs.push_back(std::move(saved[place]));
    for (size_t k = 0; k < tangents.size(); ++k) inputs.push_back(fit(tangents[k], k));
  }
  saved.clear();
  tangents.clear();
  std::vector<at::Tensor> gradients;
  code->run(std::move(inputs), gradients);
  return gradients;
}

}  // namespace antegrad::runtime
