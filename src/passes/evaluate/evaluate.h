#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "passes/evaluate/literal.h"

namespace antegrad::passes {

/// A call whose tensors may be known. Arguments left out count as None.
class KnownCall {
 public:
  KnownCall(const ir::Graph& graph, const ir::Node& node, const ir::PerValue<std::optional<Literal>>& known)
      : graph_(graph), node_(node), known_(known) {}

  const ir::TensorType& result_type() const;
  const ir::Arg& arg(size_t position) const;
  const ir::Arg* attr(std::string_view name) const;       ///< null: its default
  const Literal* tensor(size_t position) const;           ///< null: not known, or no tensor
  std::optional<int64_t> integer(size_t position) const;  ///< nothing: None, symbolic, or no integer
  std::optional<int64_t> integer_or(size_t position, int64_t otherwise) const;  ///< otherwise stands for None

 private:
  const ir::Graph& graph_;
  const ir::Node& node_;
  const ir::PerValue<std::optional<Literal>>& known_;
};

/// The result as LibTorch's CPU kernels compute it, to the bit; nothing where there is any doubt.
using Evaluator = std::optional<Literal> (*)(const KnownCall& call);

struct EvaluatorEntry {
  std::string_view op;
  Evaluator evaluate;
};
const std::vector<EvaluatorEntry>& pointwise_evaluators();
const std::vector<EvaluatorEntry>& layout_evaluators();
const std::vector<EvaluatorEntry>& factory_evaluators();

/// The result of a node with one tensor output, by its evaluator; nothing when there is none or it declines.
/// `known`: the contents of values.
std::optional<Literal> evaluate(const ir::Graph& graph, const ir::Node& node,
                                const ir::PerValue<std::optional<Literal>>& known);

/// A number argument as an element, when the conversion loses nothing that LibTorch would keep.
template <class T>
std::optional<T> number_as(const ir::Arg& arg);

}  // namespace antegrad::passes
