#include "compiler/code/rivals.h"

#include <algorithm>
#include <optional>

#include "antegrad/error.h"
#include "ir/substitute.h"

namespace antegrad::compiler {
namespace {

using ir::Arg;

class Expressions {
 public:
  void add(const ir::Graph& graph) {
    for (const auto v : graph.values.ids())
      if (const auto* type = graph.type_of(v).tensor()) add(*type);
    for (const auto& node : graph.nodes) {
      for (const auto& arg : node.args) add(arg);
      for (const auto& attr : node.attrs) add(attr.value);
    }
  }
  std::vector<Arg> list;

 private:
  void add(const ir::TensorType& type) {
    for (const auto& size : type.sizes) add(Arg(size));
    for (const auto& stride : type.strides) add(Arg(stride));
    add(Arg(type.offset));
  }
  void add(const Arg& arg) {
    if (const auto* elements = arg.as<Arg::List>())
      for (const auto& element : *elements) add(element);
    else if (const auto* body = arg.as<ir::GraphPtr>())
      add(**body);
    else if (const auto* dim = arg.as<ir::Dim>();
             dim != nullptr ? !dim->is_constant() : arg.as<ir::Real>() != nullptr)
      if (std::ranges::find(list, arg) == list.end()) list.push_back(arg);
  }
};

/// Returns nothing where an expression has no value, e.g. because of a division by 0.
std::optional<Arg> value_of(const Arg& expression, const std::vector<int64_t>& symbols) {
  try {
    return ir::substitute(expression, symbols);
  } catch (const Error&) {
    return std::nullopt;
  }
}

bool agree_at(const Arg& a, const Arg& b, const std::vector<int64_t>& symbols) {
  const auto value = value_of(a, symbols);
  return value && value == value_of(b, symbols);
}

}  // namespace

std::vector<Arg> expressions_in(const ir::Graph& graph) {
  Expressions expressions;
  expressions.add(graph);
  return std::move(expressions.list);
}

std::vector<Rivals> find_rivals(const std::vector<Arg>& of_version, const ir::Graph& forward,
                                const std::vector<std::vector<int64_t>>& samples) {
  const auto of_forward = expressions_in(forward);
  std::vector<Rivals> rivals;
  for (const auto& ours : of_version) {
    if (std::ranges::find(of_forward, ours) != of_forward.end()) continue;
    for (const auto& theirs : of_forward)
      if (std::ranges::all_of(samples, [&](const auto& symbols) { return agree_at(ours, theirs, symbols); }))
        rivals.push_back({ours, theirs});
  }
  return rivals;
}

bool agree(const std::vector<Rivals>& rivals, const std::vector<int64_t>& values) {
  return std::ranges::all_of(
      rivals, [&](const Rivals& pair) { return agree_at(pair.of_version, pair.of_forward, values); });
}

}  // namespace antegrad::compiler
