#include "passes/decompositions/decompose.h"

#include <algorithm>
#include <unordered_map>

#include "passes/decompositions/decompositions.h"
#include "passes/rewrite/replace.h"

namespace antegrad::passes {
namespace {

const std::unordered_map<std::string_view, Decomposition>& table() {
  static const auto& rows = *new const std::unordered_map<std::string_view, Decomposition>([] {
    std::unordered_map<std::string_view, Decomposition> all;
    for (auto theme : {activation_decompositions(), pointwise_decompositions(), loss_decompositions(),
                       nll_loss_decompositions(), layer_norm_decompositions(), batch_norm_decompositions(),
                       softmax_decompositions(), reduction_decompositions(), moment_decompositions(),
                       indexing_decompositions(), resampling_decompositions()})
      for (const auto& row : theme) all.emplace(row.op, row.build);
    return all;
  }());
  return rows;
}

Decomposition find_decomposition(std::string_view op) {
  const auto row = table().find(op);
  return row != table().end() ? row->second : foreach_decomposition(op);
}

}  // namespace

bool is_decomposed(std::string_view op) { return find_decomposition(op) != nullptr; }

std::vector<std::string_view> decomposed_ops() {
  std::vector<std::string_view> ops;
  for (const auto& [op, build] : table()) ops.push_back(op);
  std::ranges::sort(ops);
  return ops;
}

bool decompose(ir::Graph& graph) { return replace_nodes(graph, find_decomposition); }

}  // namespace antegrad::passes
