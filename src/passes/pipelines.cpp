#include "passes/pipelines.h"

#include <fmt/format.h>

#include <algorithm>

#include "antegrad/error.h"
#include "passes/simplify/undefined_tangents.h"
#include "passes/simplify/unreached_effects.h"

namespace antegrad::passes {
namespace {

constexpr std::string_view kFunctionalRng = "functional_rng";
constexpr std::string_view kKeepErrors = "keep_errors";
constexpr std::string_view kRemoveNoop = "remove_noop";
constexpr std::string_view kUnreachedEffects = "unreached_effects";
constexpr std::string_view kUndefinedTangents = "undefined_tangents";

/// Turns `change` into a pass that returns whether the graph has changed.
template <class Change>
auto comparing(Change change) {
  return [change](ir::Graph& graph) {
    const auto before = graph;
    change(graph);
    return !(graph == before);
  };
}

/// The passes that need to know what to specialise to.
Pass backward_pass(std::string_view name, const BackwardNeeds& needs) {
  if (name == kUnreachedEffects)
    return {name, comparing([needs](ir::Graph& graph) {
              release_unreached_effects(graph, needs.wanted, needs.defined);
              for (size_t i = 0; i < graph.outputs.size(); ++i)
                if (!needs.wanted[i]) graph.outputs[i].value = {};
            }),
            "drop unwanted gradients, and the effects of nodes that only they need", true};
  return {name, comparing([needs](ir::Graph& graph) {
            drop_undefined_tangents(graph, needs.defined, needs.reached);
          }),
          "remove what depends on undefined tangents only"};
}

}  // namespace

const std::vector<Pipeline>& all_pipelines() {
  static const auto& pipelines = *new const std::vector<Pipeline>{
      {"functional",
       "for every captured graph",
       {kFunctionalRng, kKeepErrors, "unread_statistics", kRemoveNoop, "constant_folding",
        "common_subexpressions", "dead_code", "late_waits"}},
      {"frozen", "after `functional`, with Options::freeze", {"fold_batch_norm"}},
      {"before_fusion",
       "after these, for graphs that kernels are generated for",
       {"decompose", "small_matmul", "merge_pads", "sum_products", "row_major_weights", "gather_early",
        "common_subexpressions", "dead_code"}},
      {"backward_case",
       "for a backward graph: only the wanted gradients, from the defined tangents",
       {kUnreachedEffects, kUndefinedTangents, "dead_code"}},
      {"kept_tensors", "for tensors that a function stores: only what they are computed from", {"dead_code"}},
  };
  return pipelines;
}

const Pipeline& find_pipeline(std::string_view name) {
  const auto& all = all_pipelines();
  const auto found = std::ranges::find(all, name, &Pipeline::name);
  if (found != all.end()) return *found;
  std::string names;
  for (const auto& pipeline : all) names += fmt::format("{}{}", names.empty() ? "" : ", ", pipeline.name);
  throw Error(ErrorCode::UnknownPass, "passes", fmt::format("there is no pipeline named \"{}\"", name),
              fmt::format("The pipelines are {}", names));
}

std::vector<Pass> passes_of(std::string_view pipeline, const BackwardNeeds& needs) {
  std::vector<Pass> passes;
  for (auto name : find_pipeline(pipeline).passes)
    passes.push_back(name == kUnreachedEffects || name == kUndefinedTangents ? backward_pass(name, needs)
                                                                             : find_pass(name));
  return passes;
}

std::vector<Pass> functional_passes(const FunctionalNeeds& needs) {
  auto passes = passes_of("functional");
  std::erase_if(passes, [&](const Pass& pass) {
    return (pass.name == kFunctionalRng && !needs.fused_rng) ||
           (pass.name == kKeepErrors && !needs.effects) || (pass.name == kRemoveNoop && needs.lazy_bits);
  });
  return passes;
}

BackwardNeeds all_of(const ir::Graph& backward) {
  const auto tangents = std::ranges::count(backward.inputs, ir::InputRole::Tangent, &ir::Input::role);
  return {std::vector<bool>(backward.outputs.size(), true),
          std::vector<bool>(static_cast<size_t>(tangents), true),
          std::vector<bool>(backward.outputs.size(), true)};
}

}  // namespace antegrad::passes
