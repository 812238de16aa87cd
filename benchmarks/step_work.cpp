#include "step_work.h"

#include <ATen/Functions.h>
#include <antegrad/export.h>

#include <map>
#include <string_view>

#include "aten/convert.h"
#include "aten/op_schema.h"
#include "ir/text.h"

namespace antegrad::benchmarks {
namespace {

using Arguments = c10::ArrayRef<c10::IValue>;

// --- the arithmetic of a step

/// What an op does: a number of operations, and a number per element of its first result.
struct Operations {
  double fixed = 0, per_result = 0;
};

double elements(const c10::IValue& tensor) { return static_cast<double>(tensor.toTensor().numel()); }
double size(const c10::IValue& tensor, int64_t dim) {
  return static_cast<double>(tensor.toTensor().size(dim));
}

/// Multiplications and additions that a convolution makes with each element of its result (transposed: of
/// its input).
double per_element(const c10::IValue& weight) { return 2 * elements(weight) / size(weight, 0); }

Operations product(Arguments a, size_t left) { return {2 * elements(a[left]) * size(a[left + 1], -1), 0}; }
Operations vector_product(Arguments a, size_t matrix) { return {2 * elements(a[matrix]), 0}; }

Operations convolution(Arguments a) {
  constexpr size_t kTransposed = 6;
  if (a[kTransposed].toBool()) return {elements(a[0]) * per_element(a[1]), 0};
  return {0, per_element(a[1])};
}

Operations convolution_backward(Arguments a) {
  constexpr size_t kTransposed = 7, kMask = 10;
  const auto wanted = a[kMask].toBoolList();
  const auto forward = elements(a[a[kTransposed].toBool() ? 1 : 0]) * per_element(a[2]);
  return {forward * (static_cast<double>(wanted[0]) + static_cast<double>(wanted[1])), 0};
}

/// `products`: of two in the forward pass, and four in the backward pass, which may keep the weights.
Operations attention(Arguments a, size_t query, size_t is_causal, int products) {
  const double keys = size(a[query + 1], -2), keys_of_query = a[is_causal].toBool() ? (keys + 1) / 2 : keys;
  return {2 * products * elements(a[query]) * keys_of_query, 0};
}

/// Recurrent layers of oneDNN: `weights` are two matrices, which every row of every step is multiplied with.
Operations recurrent(Arguments a, int passes) {
  const auto& input = a[0].toTensor();
  const auto rows = static_cast<double>(input.numel()) / static_cast<double>(input.size(-1));
  return {2 * passes * rows * (elements(a[1]) + elements(a[2])), 0};
}

using Count = Operations (*)(Arguments);
const std::map<std::string_view, Count>& counts() {
  static const std::map<std::string_view, Count> table{
      {"aten.mm", [](Arguments a) { return product(a, 0); }},
      {"aten.bmm", [](Arguments a) { return product(a, 0); }},
      {"aten.addmm", [](Arguments a) { return product(a, 1); }},
      {"aten.baddbmm", [](Arguments a) { return product(a, 1); }},
      {"aten.mv", [](Arguments a) { return vector_product(a, 0); }},
      {"aten.addmv", [](Arguments a) { return vector_product(a, 1); }},
      {"aten.dot", [](Arguments a) { return vector_product(a, 0); }},
      {"aten.convolution", convolution},
      {"aten.convolution_backward", convolution_backward},
      {"aten._scaled_dot_product_flash_attention_for_cpu", [](Arguments a) { return attention(a, 0, 4, 2); }},
      {"aten._scaled_dot_product_flash_attention_for_cpu_backward",
       [](Arguments a) { return attention(a, 1, 7, 4); }},
      {"aten._scaled_dot_product_flash_attention", [](Arguments a) { return attention(a, 0, 4, 2); }},
      {"aten._scaled_dot_product_flash_attention_backward",
       [](Arguments a) { return attention(a, 1, 11, 4); }},
      {"aten._scaled_dot_product_efficient_attention", [](Arguments a) { return attention(a, 0, 6, 2); }},
      {"aten._scaled_dot_product_efficient_attention_backward",
       [](Arguments a) { return attention(a, 1, 11, 4); }},
      {"aten.mkldnn_rnn_layer", [](Arguments a) { return recurrent(a, 1); }},
      {"aten.mkldnn_rnn_layer_backward", [](Arguments a) { return recurrent(a, 2); }},
  };
  return table;
}

std::vector<int64_t> sizes_of(const ir::TensorType& type) {
  std::vector<int64_t> sizes;
  for (const auto& size : type.sizes) sizes.push_back(size.constant());
  return sizes;
}

double flops_of(const ir::Graph& graph) {
  double flops = 0;
  for (const auto& node : graph.nodes) {
    const auto found = counts().find(node.op);
    if (found == counts().end()) continue;
    const auto arguments = aten::boxed_arguments(node, *aten::find_schema(node.op), [&](ir::ValueId value) {
      return at::empty(sizes_of(graph.tensor_type(value)), at::kMeta);
    });
    const auto operations = found->second(arguments);
    flops += operations.fixed;
    if (operations.per_result == 0) continue;
    double results = 1;
    for (const auto size : sizes_of(graph.tensor_type(node.outputs[0]))) results *= static_cast<double>(size);
    flops += operations.per_result * results;
  }
  return flops;
}

}  // namespace

Work work_of_step(const Workload& workload, bool updates) {
  constexpr double kState = 7;  // AdamW reads the gradient, and reads and writes parameter and two averages
  Work out;
  out.flops = flops_of(ir::parse(export_joint(workload.loss, workload.parameters, workload.inputs).graph()));
  for (const auto* tensors : {&workload.parameters, &workload.inputs})
    for (const auto& tensor : *tensors) {
      const auto bytes = static_cast<double>(tensor.nbytes());
      out.bytes += 2 * bytes;
      if (!tensor.requires_grad()) continue;
      out.bytes += bytes;
      if (updates) out.bytes += kState * bytes;
    }
  return out;
}

}  // namespace antegrad::benchmarks
