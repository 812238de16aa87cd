#include "compiler/api/runnable_graph.h"

#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <unordered_set>

#include "antegrad/error.h"
#include "aot/aliasing.h"
#include "aten/below_recording.h"
#include "aten/convert.h"
#include "compiler/api/graph_inputs.h"
#include "compiler/api/graph_signature.h"
#include "ir/text.h"
#include "ir/verify.h"

namespace antegrad::compiler {
namespace {

/// Returns what was given, with the strides that the graph was captured for.
at::Tensor fit(const at::Tensor& given, const ir::Input& input, const ir::Type& wanted,
               const std::string& stage) {
  const auto* type = wanted.tensor();
  if (!given.defined() && type != nullptr && input.role == ir::InputRole::Tangent)
    return strided(at::zeros({reach_of(*type)}, aten::options_of(*type)), *type);
  if (const auto why = misfit(given, wanted); !why.empty())
    throw Error(ErrorCode::InvalidArgument, stage, fmt::format("input '{}' is {}", input.name, why),
                "Pass what the function was exported for, or export it again");
  if (type == nullptr) return given;
  if (given.strides() == at::IntArrayRef(aten::constants(type->strides)))
    return given.resolve_conj().resolve_neg();
  // Values of an argument that was expanded need not repeat in another one. Row-major memory takes every view
  // that such a layout takes.
  if (aot::overlaps_itself(*type)) return given.resolve_conj().resolve_neg().contiguous();
  return in_layout(given, *type);
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
      code_(CompiledGraph::whole_as_written(graph_)) {}

RunnableGraph::RunnableGraph(ir::Graph graph, const Options& options)
    : graph_(std::move(graph)),
      signature_(signature_of(graph_)),
      code_(CompiledGraph::whole(graph_, options)) {}

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
  auto outputs = code_.run(inputs);
  separate_from(std::move(taken), outputs);
  return outputs;
}

}  // namespace antegrad::compiler
