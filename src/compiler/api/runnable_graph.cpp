#include "compiler/api/runnable_graph.h"

#include <ATen/ops/empty_strided.h>
#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "antegrad/error.h"
#include "aot/aliasing.h"
#include "aten/below_recording.h"
#include "aten/convert.h"
#include "compiler/api/graph_signature.h"
#include "compiler/code/driver.h"
#include "compiler/code/make_executable.h"
#include "compiler/plan/lowering.h"
#include "ir/text.h"
#include "ir/verify.h"

namespace antegrad::compiler {
namespace {

/// Whether an argument was expanded when the graph was captured. Other arguments are not, and kernels would
/// read them as if they were.
bool takes_expanded(const ir::Graph& graph) {
  return std::any_of(graph.inputs.begin(), graph.inputs.end(), [&](const ir::Input& input) {
    const auto* type = graph.type_of(input.value).tensor();
    return type != nullptr && aot::overlaps_itself(*type);
  });
}

std::shared_ptr<const runtime::Executable> compiled(const ir::Graph& graph, const Options& options) {
  const Lowering lowering(options);
  if (!lowering.makes_kernels(graph) || takes_expanded(graph))
    return std::make_shared<const runtime::Executable>(graph);
  auto prepared = graph;
  lowering.prepare(prepared);
  return make_executable(*lower(lowering, prepared));
}

bool same_sizes(const ir::TensorType& a, const ir::TensorType& b) {
  const bool same_device = a.device.kind == b.device.kind &&
                           (a.device.index == b.device.index || a.device.index < 0 || b.device.index < 0);
  return a.dtype == b.dtype && same_device && a.sizes == b.sizes;
}

at::Tensor empty_of(const ir::TensorType& type) {
  return at::empty_strided(aten::constants(type.sizes), aten::constants(type.strides),
                           aten::options_of(type));
}

/// Returns what was given, with the strides that the graph was captured for.
at::Tensor fit(const at::Tensor& given, const ir::Input& input, const ir::Type& wanted,
               const std::string& stage) {
  const auto* type = wanted.tensor();
  if (!given.defined() && type != nullptr && input.role == ir::InputRole::Tangent)
    return empty_of(*type).zero_();
  const auto found =
      given.defined() ? ir::Type(aten::type_of(given, given.device())) : ir::Type(ir::ScalarKind::None);
  const bool fits = type != nullptr && found.tensor() != nullptr ? same_sizes(*type, *found.tensor())
                                                                 : type == nullptr && !given.defined();
  if (!fits)
    throw Error(ErrorCode::InvalidArgument, stage,
                fmt::format("input '{}' is {} where the graph takes {}", input.name, ir::print(found),
                            ir::print(wanted)),
                "Pass what the function was exported for, or export it again");
  if (type == nullptr) return given;
  const auto plain = given.resolve_conj().resolve_neg();
  if (found.tensor()->strides == type->strides) return plain;
  // Nothing can be copied into an expanded layout; row-major memory takes every view that such a layout
  // takes.
  return aot::overlaps_itself(*type) ? plain.contiguous() : empty_of(*type).copy_(plain);
}

void separate_from(std::unordered_set<const c10::StorageImpl*> taken, std::vector<at::Tensor>& outputs) {
  for (auto& output : outputs) {
    if (!output.defined()) continue;
    if (taken.count(output.storage().unsafeGetStorageImpl()) > 0) output = output.clone();
    taken.insert(output.storage().unsafeGetStorageImpl());
  }
}

}  // namespace

RunnableGraph::RunnableGraph(ir::Graph graph)
    : graph_(std::move(graph)),
      signature_(signature_of(graph_)),
      executable_(std::make_shared<const runtime::Executable>(graph_)) {}

RunnableGraph::RunnableGraph(ir::Graph graph, const Options& options)
    : graph_(std::move(graph)), signature_(signature_of(graph_)), executable_(compiled(graph_, options)) {}

ir::Graph RunnableGraph::parse(std::string_view text) {
  auto graph = ir::parse(text);
  ir::verify(graph);
  signature_of(graph);  // before anything else believes the graph
  return graph;
}

std::vector<at::Tensor> RunnableGraph::run(std::vector<at::Tensor> inputs, const std::string& stage) const {
  const aten::BelowRecording below;
  std::unordered_set<const c10::StorageImpl*> taken;
  for (size_t i = 0; i < inputs.size(); ++i) {
    inputs[i] = fit(inputs[i], graph_.inputs[i], graph_.type_of(graph_.inputs[i].value), stage);
    if (inputs[i].defined()) taken.insert(inputs[i].storage().unsafeGetStorageImpl());
  }
  std::vector<at::Tensor> outputs;
  executable_->run(inputs, outputs);
  separate_from(std::move(taken), outputs);
  return outputs;
}

}  // namespace antegrad::compiler
