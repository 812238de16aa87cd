#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "capture/tape.h"

namespace antegrad::compiler {

/// The numbers among the arguments of a stretch's ops, in order. Real numbers often come from data that was
/// read, integers from sizes; both may differ from call to call.
struct Literals {
  std::vector<double> reals;
  std::vector<int64_t> integers;
};
Literals literals_of(const capture::Stretch& stretch);
bool same_bits(const std::vector<double>& a, const std::vector<double>& b);

/// Whether the stretches are the same program up to literals and to what their inputs are like.
bool same_but_literals(const capture::Stretch& a, const capture::Stretch& b);

/// The sizes of a stretch's inputs.
using InputSizes = std::vector<std::vector<int64_t>>;
InputSizes sizes_of(const std::vector<at::Tensor>& inputs);
InputSizes sizes_of(const ir::Graph& graph, const std::vector<ir::ValueId>& inputs);

/// An integer that follows a size of an input: factor * size + offset.
struct SizeRule {
  uint32_t input = 0;
  uint32_t dim = 0;
  int64_t factor = 1;
  int64_t offset = 0;
  int64_t value(const InputSizes& sizes) const { return factor * sizes[input][dim] + offset; }
  bool holds(const InputSizes& sizes, int64_t is) const {
    return input < sizes.size() && dim < sizes[input].size() && value(sizes) == is;
  }
};
using SizeRules = std::vector<std::optional<SizeRule>>;  ///< per integer; nothing where it is fixed

/// What was seen of a program in one call.
struct Sighting {
  std::vector<int64_t> integers;
  InputSizes sizes;
};
/// Returns a rule for each integer that differs between two sightings of a program; nothing when one of them
/// follows no size. Rules are guesses: whoever uses them checks that they give what was recorded.
std::optional<SizeRules> find_rules(const Sighting& before, const Sighting& now);

/// Calls `visit` with each real number, or each integer, among the arguments of a node.
template <class Node, class Visit>
void for_each_real(Node& node, const Visit& visit) {
  for (auto& arg : node.args)
    if (auto* number = std::get_if<double>(&arg.v)) visit(*number);
  for (auto& attr : node.attrs)
    if (auto* number = std::get_if<double>(&attr.value.v)) visit(*number);
}
template <class Arg, class Visit>
void for_each_integer_in(Arg& arg, const Visit& visit) {
  if (auto* number = std::get_if<ir::Dim>(&arg.v)) visit(*number);
  if (auto* list = std::get_if<ir::Arg::List>(&arg.v))
    for (auto& element : *list) for_each_integer_in(element, visit);
}
template <class Node, class Visit>
void for_each_integer(Node& node, const Visit& visit) {
  for (auto& arg : node.args) for_each_integer_in(arg, visit);
  for (auto& attr : node.attrs) for_each_integer_in(attr.value, visit);
}

}  // namespace antegrad::compiler
