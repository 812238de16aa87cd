#include "compiler/api/graph_signature.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "antegrad/error.h"

namespace antegrad {
namespace {

template <class Item, class Kind>
std::vector<std::string> names_of(const std::vector<Item>& items, Kind kind) {
  std::vector<std::string> names;
  for (const auto& item : items)
    if (item.kind == kind) names.push_back(item.name);
  return names;
}

template <class Item>
size_t place_of(const std::vector<Item>& items, std::string_view name, const char* what) {
  const auto found =
      std::find_if(items.begin(), items.end(), [&](const Item& item) { return item.name == name; });
  if (found == items.end())
    throw Error(ErrorCode::InvalidArgument, "export",
                fmt::format("the graph has no {} of the name '{}'", what, name),
                "GraphSignature::print() lists the names");
  return found - items.begin();
}

const char* text_of(GraphSignature::InputKind kind) {
  switch (kind) {
    case GraphSignature::InputKind::User:
      return "user";
    case GraphSignature::InputKind::Parameter:
      return "parameter";
    case GraphSignature::InputKind::Buffer:
      return "buffer";
    case GraphSignature::InputKind::Tangent:
      return "tangent";
  }
  return "";
}

const char* text_of(GraphSignature::OutputKind kind) {
  switch (kind) {
    case GraphSignature::OutputKind::User:
      return "user";
    case GraphSignature::OutputKind::Mutation:
      return "new value";
    case GraphSignature::OutputKind::Gradient:
      return "gradient";
  }
  return "";
}

template <class Item>
std::string line_of(const char* direction, const Item& item) {
  auto text = fmt::format("{} {}: {}", direction, item.name, text_of(item.kind));
  return item.of.empty() ? text + "\n" : text + " of " + item.of + "\n";
}

[[noreturn]] void refuse_graph(const std::string& fact) {
  throw Error(ErrorCode::Verify, "export", fact, "Parse text that Exported::graph() returned");
}

template <class Item>
void check_names(const std::vector<Item>& items, const char* what) {
  std::unordered_set<std::string_view> seen;
  for (size_t i = 0; i < items.size(); ++i) {
    if (items[i].name.empty()) refuse_graph(fmt::format("{} {} has no name", what, i));
    if (!seen.insert(items[i].name).second)
      refuse_graph(fmt::format("two {}s have the name '{}'", what, items[i].name));
  }
}

GraphSignature::InputKind kind_of(const ir::Input& input) {
  switch (input.role) {
    case ir::InputRole::UserInput:
      return GraphSignature::InputKind::User;
    case ir::InputRole::Param:
      return GraphSignature::InputKind::Parameter;
    case ir::InputRole::Buffer:
      return GraphSignature::InputKind::Buffer;
    case ir::InputRole::Tangent:
      return GraphSignature::InputKind::Tangent;
    default:
      refuse_graph(fmt::format("input '{}' has the role {}", input.name, ir::name(input.role)));
  }
}

GraphSignature::OutputKind kind_of(const ir::Output& output) {
  switch (output.role) {
    case ir::OutputRole::UserOutput:
      return GraphSignature::OutputKind::User;
    case ir::OutputRole::MutatedInput:
      return GraphSignature::OutputKind::Mutation;
    case ir::OutputRole::Grad:
      return GraphSignature::OutputKind::Gradient;
    default:
      refuse_graph(fmt::format("output '{}' has the role {}", output.name, ir::name(output.role)));
  }
}

/// Returns the output whose gradient the tangent of this name is.
std::string output_of_tangent(const std::string& tangent,
                              const std::vector<GraphSignature::Output>& outputs) {
  const auto prefix = compiler::kTangentPrefix;
  const auto is_its_output = [&](const GraphSignature::Output& output) {
    return output.kind != GraphSignature::OutputKind::Gradient &&
           tangent == std::string(prefix) + output.name;
  };
  if (std::none_of(outputs.begin(), outputs.end(), is_its_output))
    refuse_graph(fmt::format("'{}' is no tangent of an output of the graph", tangent));
  return tangent.substr(prefix.size());
}

}  // namespace

std::vector<std::string> GraphSignature::names(InputKind kind) const { return names_of(inputs, kind); }
std::vector<std::string> GraphSignature::names(OutputKind kind) const { return names_of(outputs, kind); }

size_t GraphSignature::input(std::string_view name) const { return place_of(inputs, name, "input"); }
size_t GraphSignature::output(std::string_view name) const { return place_of(outputs, name, "output"); }

std::string GraphSignature::print() const {
  std::string text;
  for (const auto& input : inputs) text += line_of("in", input);
  for (const auto& output : outputs) text += line_of("out", output);
  return text;
}

GraphSignature compiler::signature_of(const ir::Graph& graph) {
  if (graph.stage != ir::Stage::Functional && graph.stage != ir::Stage::Joint)
    refuse_graph(fmt::format("a graph of the stage {} is no exported one", ir::name(graph.stage)));
  if (!graph.symbols.empty()) refuse_graph("the graph has sizes that are symbols");
  GraphSignature signature;
  for (const auto& output : graph.outputs) {
    const bool belongs = output.role == ir::OutputRole::MutatedInput || output.role == ir::OutputRole::Grad;
    signature.outputs.push_back(
        {output.name, kind_of(output), belongs ? graph.inputs[output.target].name : std::string()});
  }
  for (const auto& input : graph.inputs) {
    const bool tangent = input.role == ir::InputRole::Tangent;
    signature.inputs.push_back({input.name, kind_of(input),
                                tangent ? output_of_tangent(input.name, signature.outputs) : std::string()});
  }
  check_names(signature.inputs, "input");
  check_names(signature.outputs, "output");
  return signature;
}

}  // namespace antegrad
