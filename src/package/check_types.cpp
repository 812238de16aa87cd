#include "package/check_types.h"

#include <utility>

#include "aten/convert.h"
#include "package/refuse.h"

namespace antegrad::packaging {
namespace {

/// What the guards know of an input.
struct Known {
  const runtime::TensorGuard& guard;
  std::vector<ir::Dim> sizes, strides;
};

Known known_of(const VersionRecord& version, int32_t input) {
  const size_t number = input;
  const auto& guard = input_guard(version, number);
  if (number < version.arguments.size() && version.shapes)
    return {guard, version.shapes->tensors[number].sizes, version.shapes->tensors[number].strides};
  return {
      guard, {guard.sizes().begin(), guard.sizes().end()}, {guard.strides().begin(), guard.strides().end()}};
}

void check_input(const VersionRecord& version, const ir::Type& type, int32_t input) {
  const auto* tensor = type.tensor();
  if (tensor == nullptr) return;  // nothing is read
  const auto known = known_of(version, input);
  require_in_file(known.guard.is_plain() && known.guard.is_on_cpu(), "a guard for another kind of tensor");
  require_in_file(known.guard.dtype() == aten::to_torch(tensor->dtype), "a guard for another dtype");
  require_in_file(known.sizes == tensor->sizes && known.strides == tensor->strides,
                  "a guard for another shape");
}

/// A base is a flat view of its first member's storage, for which LibTorch checks the bounds.
void check_base(const VersionRecord& version, const ir::Type& type, const aot::MakeBase& base) {
  const auto* tensor = type.tensor();
  require_in_file(tensor != nullptr && !base.members.empty() &&
                      tensor->sizes == std::vector<ir::Dim>{base.elements} &&
                      tensor->strides == std::vector<ir::Dim>{1} &&
                      known_of(version, base.members[0]).guard.dtype() == aten::to_torch(tensor->dtype),
                  "a base of another type");
}

void check_saved(const partition::Partition& partition) {
  const auto same_type = [&](const ir::Graph& graph, ir::ValueId value, size_t k) {
    return graph.values[value].type == partition.backward.values[partition.backward.inputs[k].value].type;
  };
  for (size_t k = 0; k < partition.saved.size(); ++k) {
    const auto& [input, output] = partition.saved[k];
    const auto& forward = partition.forward;
    require_in_file(input >= 0 ? std::cmp_less(input, forward.inputs.size()) &&
                                     same_type(forward, forward.inputs[input].value, k)
                               : output >= 0 && std::cmp_less(output, forward.outputs.size()) &&
                                     same_type(forward, forward.outputs[output].value, k),
                    "a saved value of another type");
  }
}

}  // namespace

void check_types(const VersionRecord& version) {
  const auto& forward = version.plan.forward_graph();
  for (const auto& instance : version.instances) {
    const auto& signature = instance.signature;
    for (size_t k = 0; k < forward.inputs.size(); ++k) {
      const auto& type = forward.values[forward.inputs[k].value].type;
      const auto slot = signature.graph_inputs[k];
      if (slot < signature.inputs)
        check_input(version, type, slot);
      else if (const auto* base = aot::find_base(signature, slot))
        check_base(version, type, *base);
    }
  }
  if (version.plan.partition) check_saved(*version.plan.partition);
}

}  // namespace antegrad::packaging
