#include <unordered_map>

#include "aten/below_recording.h"
#include "aten/convert.h"
#include "capture/recorder.h"
#include "capture/scope.h"

namespace antegrad::capture {

using namespace aten;

namespace {

void prefix(std::string& scope) {
  const auto& outer = current_scope();
  if (outer.empty()) return;
  scope = scope.empty() ? outer : outer + "." + scope;
}

/// Returns what a node's output is a view of: its first argument where that is on the same storage, else the
/// base, which a graph that was cut out of a larger one may lack.
ir::ValueId viewed_by(const ir::Graph& graph, const ir::Node& node, ir::ValueId output) {
  const auto base = graph.values[output].base;
  if (!base.valid()) return {};
  const auto* first = node.args.empty() ? nullptr : node.args[0].as<ir::ValueId>();
  return first != nullptr && graph.storage_of(*first) == base ? *first : base;
}

}  // namespace

std::vector<at::Tensor> Recorder::paste(const ir::Graph& graph, const std::vector<at::Tensor>& inputs) {
  unfollow();
  const BelowRecording below;
  ir::PerValue<ir::ValueId> here(graph.values.size());
  ir::PerValue<ir::Dim> moved(graph.values.size());    // change of storage offset since the graph was made
  std::unordered_map<int32_t, c10::Storage> storages;  // by root value in graph_
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].defined()) continue;
    const auto inner = graph.inputs[i].value;
    const auto outer = value_of(inputs[i]);
    here[inner] = outer;
    moved[inner] = graph_.tensor_type(outer).offset - graph.tensor_type(inner).offset;
    storages[graph_.storage_of(outer).index] = storage_for(inputs[i]);
  }
  for (const auto& node : graph.nodes) {
    auto copy = node;
    ir::for_each_input(copy, [&](ir::ValueId& v) { v = here[v]; });
    for (auto& output : copy.outputs) {
      auto type = graph.type_of(output);
      const auto viewed = viewed_by(graph, node, output);
      ir::ValueId base;
      if (viewed.valid() && here[viewed].valid()) {
        base = graph_.storage_of(here[viewed]);
        moved[output] = moved[viewed];
        if (auto* tensor = type.tensor()) tensor->offset = tensor->offset + moved[viewed];
      }
      output = here[output] = graph_.add_value(std::move(type), base);
    }
    copy.provenance.backward = false;  // it is part of what is being captured now
    copy.provenance.roots = 0;
    prefix(copy.provenance.scope);
    graph_.add_node(std::move(copy));
  }
  std::vector<at::Tensor> outputs;
  for (const auto& output : graph.outputs) {
    if (!output.value.valid()) {
      outputs.emplace_back();
      continue;
    }
    const auto value = here[output.value];
    const auto& type = graph_.tensor_type(value);
    auto meta = make_meta(type);
    const auto device = to_torch(type.device);
    auto [storage, added] = storages.try_emplace(graph_.storage_of(value).index);
    if (added) storage->second = make_fake_storage(meta.storage().nbytes(), device);
    outputs.emplace_back(make_fake(std::move(meta), device, value, storage->second));
  }
  return outputs;
}

}  // namespace antegrad::capture
