#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "program/json.h"

namespace antegrad::program {

/// The name of a symbol in the file: "s0".
std::string symbol_name(int32_t symbol);

/// An expression as sympy's srepr() prints it: "Mul(Integer(2), Symbol('s0', positive=True, integer=True))".
std::string sympy_text(const ir::Dim& dim);
/// {"as_int": 3}, or {"as_expr": …} for an expression.
Json size_json(const ir::Dim& dim, const std::vector<ir::Symbol>& symbols);

/// Computes sizes in the graph of a file, from the sizes of its arguments.
class SizeWriter {
 public:
  /// `add` appends a node, whose result is a number: `value` describes it, in the list `values` of the graph.
  struct NumberNode {
    std::string target;  ///< "_operator.mul"
    Json inputs;
    bool real = false;
    Json value;
  };
  using Add = std::function<std::string(NumberNode)>;
  /// `name_of` gives the name of an argument's value. The graph must outlive the writer.
  SizeWriter(const ir::Graph& graph, std::function<std::string(ir::ValueId)> name_of, Add add);

  /// {"as_int": 3}, or {"as_sym_int": …} after the nodes that compute it.
  Json number(const ir::Dim& dim);
  Json number(const ir::Real& real);
  /// The element of a list: {"as_int": 3} or {"as_name": "mul"}.
  Json element(const ir::Dim& dim);

 private:
  std::string name_of(const ir::Dim& dim);
  std::string symbol(int32_t symbol);
  std::string binary(const char* target, const Json& a, const Json& b, const ir::Dim& result);
  std::string real_node(const char* target, Json inputs, const std::string& text, double hint);
  int64_t hint(const ir::Dim& dim) const { return graph_.hint_of(dim); }

  const ir::Graph& graph_;
  std::function<std::string(ir::ValueId)> name_of_input_;
  Add add_;
  std::map<ir::Dim, std::string> known_;
};

}  // namespace antegrad::program
