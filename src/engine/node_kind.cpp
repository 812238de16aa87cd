#include "engine/node_kind.h"

#include <torch/csrc/autograd/functions/accumulate_grad.h>
#include <torch/csrc/autograd/functions/tensor.h>
#include <torch/csrc/autograd/generated/Functions.h>

#include <typeinfo>
#include <vector>

#include "aten/autograd_types.h"
#include "engine/flat_index.h"
#include "engine/node_functions.h"
#include "runtime/node.h"
#include "util/thread_object.h"

namespace antegrad::engine {

using torch::autograd::Node;

namespace {

NodeKind look_at(const Node& node) {
  if (dynamic_cast<const torch::autograd::generated::MulBackward1*>(&node) != nullptr ||
      dynamic_cast<const torch::autograd::generated::DivBackward1*>(&node) != nullptr)
    return NodeKind::Scales;
  if (aten::is_generated(node)) return NodeKind::Generated;
  if (dynamic_cast<const torch::autograd::CopySlices*>(&node) != nullptr) return NodeKind::CopySlices;
  if (dynamic_cast<const runtime::CompiledBackward*>(&node) != nullptr) return NodeKind::Compiled;
  if (dynamic_cast<const torch::autograd::AccumulateGrad*>(&node) != nullptr) return NodeKind::Accumulate;
  return aten::is_custom_function(node) ? NodeKind::Function : NodeKind::Other;
}

}  // namespace

NodeKind kind_of(const Node& node) {
  auto& types = thread_object<FlatIndex<uintptr_t>, NodeKind>();
  auto& kinds = thread_object<std::vector<NodeKind>, NodeKind>();
  const auto [index, added] = types.number(reinterpret_cast<uintptr_t>(&typeid(node)));
  if (added) kinds.push_back(look_at(node));
  return kinds[index];
}

bool can_be_traced(Node& node, NodeKind kind) {
  switch (kind) {
    case NodeKind::Generated:
    case NodeKind::Scales:
    case NodeKind::CopySlices:
      return true;
    case NodeKind::Compiled:
      return static_cast<const runtime::CompiledBackward&>(node).can_be_recorded();
    case NodeKind::Function:
      return is_traceable_function(node);
    default:
      return false;
  }
}

}  // namespace antegrad::engine
