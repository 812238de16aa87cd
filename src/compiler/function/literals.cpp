#include "compiler/function/literals.h"

#include <algorithm>
#include <bit>

#include "aten/convert.h"

namespace antegrad::compiler {
namespace {

bool alike(const ir::Arg& a, const ir::Arg& b);
bool alike(const ir::NamedArg& a, const ir::NamedArg& b);

template <class Args>
bool all_alike(const Args& a, const Args& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const auto& x, const auto& y) { return alike(x, y); });
}

/// Whether the arguments are equal up to numbers.
bool alike(const ir::Arg& a, const ir::Arg& b) {
  if (a.v.index() != b.v.index()) return false;
  if (a.as<double>() != nullptr || a.as<ir::Dim>() != nullptr) return true;
  if (const auto* list = a.as<ir::Arg::List>()) return all_alike(*list, *b.as<ir::Arg::List>());
  return a == b;
}

bool alike(const ir::NamedArg& a, const ir::NamedArg& b) {
  return a.name == b.name && alike(a.value, b.value);
}

bool same_call(const ir::Node& a, const ir::Node& b) {
  return a.op == b.op && a.outputs == b.outputs && all_alike(a.args, b.args) && all_alike(a.attrs, b.attrs) &&
         a.returns == b.returns && (a.provenance.sequence < 0) == (b.provenance.sequence < 0) &&
         a.provenance.scope == b.provenance.scope;
}

/// The rule by which an integer was `before` and is `now`: a size itself, a multiple of one, or a size and a
/// bit.
std::optional<SizeRule> find_rule(int64_t before, int64_t now, const InputSizes& then, const InputSizes& sizes) {
  std::optional<SizeRule> found;
  for (uint32_t i = 0; i < std::min(then.size(), sizes.size()); ++i)
    for (uint32_t d = 0; d < std::min(then[i].size(), sizes[i].size()); ++d) {
      const auto a = then[i][d], b = sizes[i][d];
      if (a == b) continue;
      if (a == before && b == now) return SizeRule{i, d, 1, 0};
      if (found) continue;
      if (a != 0 && before % a == 0 && before / a * b == now)
        found = SizeRule{i, d, before / a, 0};
      else if (before - a == now - b)
        found = SizeRule{i, d, 1, before - a};
    }
  return found;
}

}  // namespace

Literals literals_of(const capture::Stretch& stretch) {
  Literals literals;
  for (const auto& node : stretch.graph.nodes) {
    for_each_real(node, [&](double number) { literals.reals.push_back(number); });
    for_each_integer(node, [&](const ir::Dim& number) { literals.integers.push_back(number.constant()); });
  }
  return literals;
}

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](double x, double y) {
    return std::bit_cast<int64_t>(x) == std::bit_cast<int64_t>(y);
  });
}

bool same_but_literals(const capture::Stretch& a, const capture::Stretch& b) {
  return a.histories == b.histories && a.inference == b.inference && a.input_values == b.input_values &&
         a.outputs == b.outputs && a.requires_grad == b.requires_grad &&
         std::equal(a.graph.nodes.begin(), a.graph.nodes.end(), b.graph.nodes.begin(), b.graph.nodes.end(),
                    same_call);
}

InputSizes sizes_of(const std::vector<at::Tensor>& inputs) {
  InputSizes sizes;
  for (const auto& input : inputs) sizes.push_back(input.sizes().vec());
  return sizes;
}

InputSizes sizes_of(const ir::Graph& graph, const std::vector<ir::ValueId>& inputs) {
  InputSizes sizes;
  for (auto value : inputs) {
    const auto* type = graph.type_of(value).tensor();
    sizes.push_back(type != nullptr ? aten::constants(type->sizes) : std::vector<int64_t>());
  }
  return sizes;
}

std::optional<SizeRules> find_rules(const Sighting& before, const Sighting& now) {
  SizeRules rules(now.integers.size());
  for (size_t i = 0; i < rules.size(); ++i) {
    if (before.integers[i] == now.integers[i]) continue;
    rules[i] = find_rule(before.integers[i], now.integers[i], before.sizes, now.sizes);
    if (!rules[i]) return std::nullopt;
  }
  return rules;
}

}  // namespace antegrad::compiler
