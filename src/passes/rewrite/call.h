#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace antegrad::passes {

/// Thrown by a rule for a node that it does not handle; the node is then left alone.
struct NotHandled {};

/// Returns a real number known at compile time. Throws NotHandled for any other argument.
double number_of(const ir::Arg& arg);

/// Reads the arguments of a node. Positions are those of the schema; `fallback` is the schema's default for
/// an omitted argument. Throws NotHandled for an argument of another kind than requested.
class Call {
 public:
  Call(const ir::Graph& graph, const ir::Node& node) : graph_(graph), node_(node) {}

  const ir::Node& node() const { return node_; }
  ir::ValueId tensor(size_t i) const;
  ir::ValueId optional_tensor(size_t i) const;  ///< invalid for None
  std::vector<ir::ValueId> tensors(size_t i) const;
  double number(size_t i, std::optional<double> fallback = {}) const;
  int64_t integer(size_t i, std::optional<int64_t> fallback = {}) const;
  bool flag(size_t i, std::optional<bool> fallback = {}) const;
  ir::Dim dim(size_t i, std::optional<ir::Dim> fallback = {}) const;  ///< an integer that may be symbolic
  std::vector<ir::Dim> dims(size_t i) const;                          ///< empty for None
  std::vector<int64_t> integers(size_t i) const;                      ///< empty for None
  /// Dimension numbers, not negative. None or an empty list means all.
  std::vector<int64_t> dims_or_all(size_t i, size_t rank) const;
  const ir::Arg& arg(size_t i) const;                   ///< None if omitted
  const ir::Arg& keyword(std::string_view name) const;  ///< None if omitted
  double keyword_number(std::string_view name, double fallback) const;

  size_t output_count() const { return node_.outputs.size(); }
  ir::ValueId output(size_t i) const { return node_.outputs.at(i); }
  bool has_output(size_t i) const;  ///< false for masked gradients, which are not tensors
  ir::TensorType output_type(size_t i) const { return type(output(i)); }
  // Returned by value: adding a value to the graph invalidates references to types.
  ir::TensorType type(ir::ValueId id) const;
  static int64_t wrapped(int64_t dim, size_t rank);  ///< maps a negative dim to 0 … rank - 1

 private:
  const ir::Graph& graph_;
  const ir::Node& node_;
};

}  // namespace antegrad::passes
