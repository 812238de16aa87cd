#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace antegrad::passes {

/// Thrown by a rule that meets a node it is not written for; the node then stays as it is.
struct Unusual {};

/// A real number that is known now; Unusual for any other argument.
double number_of(const ir::Arg& arg);

/// Reads the arguments of a node. Positions are those of the schema; `fallback` is what the schema says when
/// the argument was left out. An argument of another kind than asked for is Unusual.
class Call {
 public:
  Call(const ir::Graph& graph, const ir::Node& node) : graph_(graph), node_(node) {}

  const ir::Node& node() const { return node_; }
  ir::ValueId tensor(size_t i) const;
  ir::ValueId optional_tensor(size_t i) const;  ///< not valid: none
  std::vector<ir::ValueId> tensors(size_t i) const;
  double number(size_t i, std::optional<double> fallback = {}) const;
  int64_t integer(size_t i, std::optional<int64_t> fallback = {}) const;
  bool flag(size_t i, std::optional<bool> fallback = {}) const;
  ir::Dim dim(size_t i, std::optional<ir::Dim> fallback = {}) const;  ///< an integer that may be symbolic
  std::vector<ir::Dim> dims(size_t i) const;                          ///< none: empty
  std::vector<int64_t> integers(size_t i) const;                      ///< likewise
  /// Numbers of dimensions, not negative; none or an empty list means all.
  std::vector<int64_t> dims_or_all(size_t i, size_t rank) const;
  const ir::Arg& arg(size_t i) const;                   ///< none when left out
  const ir::Arg& keyword(std::string_view name) const;  ///< none when left out
  double keyword_number(std::string_view name, double fallback) const;

  size_t output_count() const { return node_.outputs.size(); }
  ir::ValueId output(size_t i) const { return node_.outputs.at(i); }
  bool has_output(size_t i) const;  ///< it is a tensor: masked gradients are none
  ir::TensorType output_type(size_t i) const { return type(output(i)); }
  // By value: the types of a graph move when a value is added.
  ir::TensorType type(ir::ValueId id) const;
  static int64_t wrapped(int64_t dim, size_t rank);  ///< dim in 0 … rank - 1

 private:
  const ir::Graph& graph_;
  const ir::Node& node_;
};

}  // namespace antegrad::passes
