#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "passes/evaluate/literal.h"

namespace antegrad::passes {

/// A call whose tensor arguments may have known contents. Omitted arguments count as None.
class KnownCall {
 public:
  KnownCall(const ir::Graph& graph, const ir::Node& node, const ir::PerValue<std::optional<Literal>>& known)
      : graph_(graph), node_(node), known_(known) {}

  const ir::TensorType& result_type() const;
  const ir::Arg& arg(size_t position) const;
  const ir::Arg* attr(std::string_view name) const;       ///< null for the default
  const Literal* tensor(size_t position) const;           ///< null if it is not known or not a tensor
  std::optional<int64_t> integer(size_t position) const;  ///< nothing for None, symbols and non-integers
  std::optional<int64_t> integer_or(size_t position, int64_t otherwise) const;  ///< `otherwise` for None

 private:
  const ir::Graph& graph_;
  const ir::Node& node_;
  const ir::PerValue<std::optional<Literal>>& known_;
};

/// Returns the result bit for bit as LibTorch's CPU kernels compute it; nothing where that is in doubt.
using Evaluator = std::optional<Literal> (*)(const KnownCall& call);

struct EvaluatorEntry {
  std::string_view op;
  Evaluator evaluate;
};
const std::vector<EvaluatorEntry>& pointwise_evaluators();
const std::vector<EvaluatorEntry>& layout_evaluators();
const std::vector<EvaluatorEntry>& factory_evaluators();

/// Returns the result of a node with one tensor output; nothing if it has no evaluator or the evaluator
/// declines. `known`: the contents of values.
std::optional<Literal> evaluate(const ir::Graph& graph, const ir::Node& node,
                                const ir::PerValue<std::optional<Literal>>& known);

/// Converts a number argument to an element type; nothing if that would lose what LibTorch keeps.
template <class T>
std::optional<T> number_as(const ir::Arg& arg);

}  // namespace antegrad::passes
