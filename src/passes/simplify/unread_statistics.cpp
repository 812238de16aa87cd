#include "passes/simplify/unread_statistics.h"

namespace antegrad::passes {
namespace {

/// The positions of the running mean (followed by the variance) and the training flag among an op's
/// arguments.
struct Places {
  std::string_view op;
  size_t mean;
  size_t training;
  bool is_backward;
};
constexpr Places kPlaces[] = {
    {"aten.native_batch_norm", 3, 5, false},
    {"aten._native_batch_norm_legit", 3, 5, false},
    {"aten.native_batch_norm_backward", 3, 7, true},
};

const Places* places_of(const ir::Node& node) {
  for (const auto& places : kPlaces)
    if (node.op == places.op && node.args.size() > places.training) {
      const auto* training = node.args[places.training].as<bool>();
      return training != nullptr && *training ? &places : nullptr;
    }
  return nullptr;
}

}  // namespace

bool is_unread_statistic(const ir::Node& node, size_t arg) {
  const auto* places = places_of(node);
  return places != nullptr && (arg == places->mean || arg == places->mean + 1);
}

bool unread_statistics(ir::Graph& graph) {
  bool changed = false;
  for (auto& node : graph.nodes) {
    const auto* places = places_of(node);
    if (places == nullptr || !places->is_backward) continue;
    for (auto arg : {places->mean, places->mean + 1}) {
      changed |= node.args[arg].as<ir::ValueId>() != nullptr;
      node.args[arg] = ir::Arg();
    }
  }
  return changed;
}

}  // namespace antegrad::passes
