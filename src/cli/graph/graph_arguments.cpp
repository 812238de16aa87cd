#include "cli/graph/graph_arguments.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <limits>
#include <set>

#include "cli/errors.h"

namespace antegrad::cli {
namespace {

std::optional<int64_t> parse_whole_number(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

/// Parses "32,8" or "32x8"; "" is a tensor without dims.
std::optional<std::vector<int64_t>> shape_of(std::string_view text) {
  std::vector<int64_t> sizes;
  while (!text.empty()) {
    const auto end = text.find_first_of(",x");
    const auto size = parse_whole_number(text.substr(0, end));
    if (!size || (end != text.npos && end + 1 == text.size())) return std::nullopt;
    sizes.push_back(*size);
    text = end == text.npos ? std::string_view() : text.substr(end + 1);
  }
  return sizes;
}

bool is_tensor_file(std::string_view text) { return text.ends_with(".pt") || text.ends_with(".pth"); }

std::string range_text(const ir::Range& range) {
  constexpr auto kNone = ir::Range{};
  return fmt::format("{}..{}", range.lower == kNone.lower ? "" : std::to_string(range.lower),
                     range.upper == kNone.upper ? "" : std::to_string(range.upper));
}

using Values = std::vector<std::optional<int64_t>>;

void set_value(const std::string& where, Values& values, size_t symbol, int64_t value) {
  auto& known = values[symbol];
  if (known && *known != value)
    throw UsageError(where, fmt::format("s{} has two values, {} and {}", symbol, *known, value),
                     "Give sizes that agree");
  known = value;
}

void read_sizes(const std::string& where, const std::vector<std::string>& sizes, Values& values) {
  for (const auto& text : sizes) {
    const auto equals = text.find('=');
    const auto symbol = text.starts_with('s') && equals != text.npos
                            ? parse_whole_number(text.substr(1, equals - 1))
                            : std::nullopt;
    const auto value = symbol ? parse_whole_number(text.substr(equals + 1)) : std::nullopt;
    if (!value)
      throw UsageError(where, fmt::format("--size {} is not of the form SYMBOL=SIZE", text),
                       "Write --size s0=32");
    if (*symbol < 0 || *symbol >= std::ssize(values))
      throw UsageError(where, fmt::format("the graph has no symbol s{}", *symbol),
                       values.empty() ? std::string("All its sizes are numbers")
                                      : fmt::format("Its symbols are s0 to s{}", values.size() - 1));
    set_value(where, values, *symbol, *value);
  }
}

}  // namespace

std::vector<InputArgument> parse_inputs(const std::string& where, const std::vector<std::string>& texts) {
  std::vector<InputArgument> out;
  for (const auto& text : texts) {
    const auto equals = text.find('=');
    const auto name = equals == text.npos ? std::string() : text.substr(0, equals);
    const auto value = equals == text.npos ? text : text.substr(equals + 1);
    if (is_tensor_file(value))
      out.push_back({name, value, {}});
    else if (auto shape = shape_of(value); shape && equals != text.npos)
      out.push_back({name, {}, std::move(shape)});
    else
      throw UsageError(where, fmt::format("--input {} is neither a file nor a name with a shape", text),
                       "Write --input FILE.pt, --input NAME=FILE.pt or --input NAME=32,8");
  }
  return out;
}

std::string name_of_input(const ir::Graph& graph, size_t place) {
  const auto& name = graph.inputs[place].name;
  return name.empty() ? fmt::format("input{}", place) : name;
}

std::vector<std::string> names_of_outputs(const ir::Graph& graph) {
  std::vector<std::string> names;
  std::set<std::string> taken;
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const auto& output = graph.outputs[i];
    auto name = output.name;
    const bool has_target = output.target >= 0 && output.target < std::ssize(graph.inputs);
    // The targets of a backward graph are inputs of the joint graph it was split from.
    if (output.role == ir::OutputRole::Grad && graph.stage == ir::Stage::Backward)
      name = "grad:" + (name.empty() ? fmt::format("input{}", output.target) : name);
    else if (output.role == ir::OutputRole::Grad && has_target)
      name = "grad:" + name_of_input(graph, output.target);
    else if (output.role == ir::OutputRole::MutatedInput && has_target)
      name = "mutated:" + name_of_input(graph, output.target);
    else if (name.empty())
      name = fmt::format("output{}", i);
    auto unique = name;
    for (int again = 1; !taken.insert(unique).second; ++again) unique = fmt::format("{}_{}", name, again);
    names.push_back(unique);
  }
  return names;
}

size_t input_called(const std::string& where, const ir::Graph& graph, const std::string& name) {
  std::vector<std::string> names;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    names.push_back(name_of_input(graph, i));
    if (names.back() == name) return i;
  }
  throw UsageError(where, fmt::format("the graph has no input \"{}\"", name),
                   fmt::format("Its inputs are {}", fmt::join(names, ", ")));
}

std::vector<int64_t> symbol_values(const std::string& where, const ir::Graph& graph,
                                   const std::vector<std::string>& sizes, const Shapes& shapes) {
  Values values(graph.symbols.size());
  read_sizes(where, sizes, values);
  for (const auto& [place, shape] : shapes) {
    const auto* type = graph.type_of(graph.inputs[place].value).tensor();
    // Rejected when the tensors are made.
    if (type == nullptr || type->sizes.size() != shape.size()) continue;
    for (size_t d = 0; d < shape.size(); ++d)
      if (const auto symbol = type->sizes[d].as_symbol()) set_value(where, values, *symbol, shape[d]);
  }
  std::vector<int64_t> out;
  for (size_t i = 0; i < values.size(); ++i) {
    const auto& [range, hint] = graph.symbols[i];
    if (!values[i] && hint > 0) values[i] = hint;
    if (!values[i])
      throw UsageError(where, fmt::format("the symbol s{} ({}) has no value", i, range_text(range)),
                       fmt::format("Give it one, for instance --size s{}=32", i));
    if (*values[i] < range.lower || *values[i] > range.upper)
      throw UsageError(where, fmt::format("s{}={} is not in {}", i, *values[i], range_text(range)),
                       "Give a size in that range");
    out.push_back(*values[i]);
  }
  return out;
}

}  // namespace antegrad::cli
