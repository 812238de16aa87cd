#pragma once
#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "antegrad/error.h"
#include "program/interpreter.h"
#include "program/resolve.h"

namespace antegrad::program {

[[noreturn]] inline void refuse_higher_order(const Node& node, const std::string& fact) {
  throw Error(ErrorCode::InvalidArgument, "program:" + node.target, fact + where_in_python(node),
              "Export the program again");
}

/// The arguments of a node whose op is of higher order, by position.
class Operands {
 public:
  Operands(const Node& node, const Values& values) : node_(node), values_(values) {}

  const Argument& argument(size_t i) const {
    if (i >= node_.inputs.size()) refuse_higher_order(node_, fmt::format("argument {} is missing", i));
    return node_.inputs[i].argument;
  }
  const Graph& graph(size_t i) const {
    if (argument(i).kind != Argument::Kind::Graph)
      refuse_higher_order(node_, fmt::format("argument {} is no graph", i));
    return *argument(i).graph;
  }
  Slot one(size_t i) const { return values_.get(argument(i)); }
  std::vector<Slot> list(size_t i) const { return values_.get_list(argument(i)); }
  /// All positional arguments from one on.
  std::vector<Slot> rest(size_t from) const {
    std::vector<Slot> out;
    for (size_t i = from; i < node_.inputs.size(); ++i)
      if (!node_.inputs[i].keyword) out.push_back(one(i));
    return out;
  }
  std::vector<Slot> run(size_t i, std::vector<Slot> inputs) const {
    const auto& graph = this->graph(i);
    if (inputs.size() != graph.inputs.size())
      refuse_higher_order(
          node_, fmt::format("a graph takes {} values and is given {}", graph.inputs.size(), inputs.size()));
    return run_graph(graph, std::move(inputs));
  }
  const Node& node() const { return node_; }

 private:
  const Node& node_;
  const Values& values_;
};

inline std::vector<Slot> joined(std::vector<Slot> a, const std::vector<Slot>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace antegrad::program
