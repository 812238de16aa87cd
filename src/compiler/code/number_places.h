#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "ir/graph.h"

namespace antegrad::compiler {

/// A literal of a captured graph, or of a body of a region in it.
struct NumberPlace {
  /// An argument of a node that is a graph.
  struct Body {
    uint32_t node = 0;
    uint32_t arg = 0;
  };
  std::vector<Body> inside;  ///< the bodies around it, from the outermost
  uint32_t node = 0;
  uint32_t arg = 0;      ///< counts positional arguments, then attributes
  int32_t element = -1;  ///< in a list, or -1
};

/// The value of a literal: an integer, or the bits of a double.
struct Literal {
  int64_t value = 0;
  bool real = false;
  auto operator<=>(const Literal&) const = default;
};

constexpr std::string_view kConstant = "antegrad.constant";

/// Whether an op takes any number there, as opposed to a size, a dim or an index.
bool takes_number(const ir::Node& node, uint32_t arg);

/// Where a graph and its bodies have numbers: arguments of ops that take any number, and constants.
std::vector<NumberPlace> number_places(const ir::Graph& graph);

/// What is there in the graph; null when it has no such node or argument. The argument of a constant is its
/// first attribute.
const ir::Graph* graph_at(const ir::Graph& graph, const NumberPlace& place);
const ir::Node* node_at(const ir::Graph& graph, const NumberPlace& place);
const ir::Arg* arg_at(const ir::Graph& graph, const NumberPlace& place);
std::optional<Literal> literal_of(const ir::Arg& arg);
/// Also the contents of a constant that was a number of the host.
std::optional<Literal> literal_at(const ir::Graph& graph, const NumberPlace& place);

/// Put a symbol for a number, or a literal, there. Bodies around the place are replaced by others.
void put_symbol(ir::Graph& graph, const NumberPlace& place, int32_t symbol, bool real);
void put_literal(ir::Graph& graph, const NumberPlace& place, const Literal& literal);

}  // namespace antegrad::compiler
