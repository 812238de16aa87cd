#include "passes/communication/agree.h"

#include <map>

#include "ir/text.h"

namespace antegrad::passes {
namespace {

constexpr std::string_view kGroup = "group:";

/// Returns a line per collective of each group: its op, and what it gets.
std::map<std::string, std::string> communication(const ir::Graph& graph) {
  std::map<std::string, std::string> lines;
  for (const auto& node : graph.nodes) {
    const auto resource = ir::acts_on(node.effects);
    if (!resource.starts_with(kGroup)) continue;
    auto& text = lines[std::string(resource.substr(kGroup.size()))];
    text += node.op.substr(node.op.find('.') + 1);
    for (const auto& arg : node.args) {
      ir::for_each_value(arg, [&](ir::ValueId id) { text += " " + ir::print(graph.type_of(id)); });
      if (const auto* word = arg.as<std::string>()) text += " " + *word;
      if (const auto* number = arg.as<ir::Dim>()) text += " " + number->to_string();
    }
    text += '\n';
  }
  return lines;
}

}  // namespace

void agree_on_communication(ir::Graph& graph) {
  std::vector<ir::Node> first;
  for (auto& [group, text] : communication(graph)) {
    auto& node = first.emplace_back();
    node.op = "antegrad_distributed.agree";
    node.args = {text, group};
    node.effects.ordered = true;
    node.effects.resource = std::string(kGroup) + group;
    node.provenance.backward = graph.stage == ir::Stage::Backward;
  }
  graph.nodes.insert(graph.nodes.begin(), first.begin(), first.end());
}

}  // namespace antegrad::passes
