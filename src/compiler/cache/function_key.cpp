#include "compiler/cache/function_key.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "compiler/cache/system_key.h"
#include "ir/binary.h"
#include "ir/text.h"

namespace antegrad::compiler {
namespace {

struct PolicyText {
  std::string operator()(const MinCut&) const { return "min-cut"; }
  std::string operator()(const SaveAll&) const { return "save all"; }
  std::string operator()(const RecomputeAll&) const { return "recompute all"; }
  std::string operator()(const MemoryBudget& budget) const {
    return fmt::format("budget of {} bytes, share {}", budget.peak_bytes, budget.saved_share);
  }
  std::string operator()(const UserPolicy& policy) const { return "user's: " + policy.id; }
};

/// Returns a line for each option that affects code, independent of the order in which the user gave them.
std::string options_text(const Options& options) {
  auto disabled = options.disabled_passes;
  std::sort(disabled.begin(), disabled.end());
  disabled.erase(std::unique(disabled.begin(), disabled.end()), disabled.end());
  auto text = fmt::format("backend {}\nrng {}\npolicy {}\nwritable inputs {}\ndisabled passes {}\n",
                          static_cast<int>(options.backend), static_cast<int>(options.rng),
                          std::visit(PolicyText(), options.policy), options.writable_inputs,
                          fmt::join(disabled, " "));
  if (options.freeze) text += "frozen\n";
  for (const auto& rule : options.scope_rules)
    text += fmt::format("scope {}: {}\n", rule.scope, static_cast<int>(rule.keep));
  if (const auto& how = options.gradients)
    text += fmt::format("gradients over {} of {}, {} bytes, average {}\n", how->group, how->size,
                        how->bucket_bytes, how->average);
  return text;
}

/// Whether scopes of nodes affect the partition: if there are rules or a user's policy.
bool scopes_matter(const Options& options) {
  return !options.scope_rules.empty() || std::holds_alternative<UserPolicy>(options.policy);
}

std::string inputs_text(const ir::Graph& graph) {
  std::string text;
  for (const auto& input : graph.inputs)
    text += fmt::format("{} {}\n", ir::name(input.role), ir::print(graph.type_of(input.value)));
  return text;
}

std::string facts_text(const CaptureFacts& facts) {
  auto text = fmt::format("differentiable {}\nlazy bits {}\n", facts.differentiable, facts.lazy_bits);
  for (const auto& row : facts.reached_by) {
    for (auto reached : row) text += reached ? '1' : '0';
    text += '\n';
  }
  return text;
}

/// Returns what is independent of sizes: the ops in order, and the dtypes, devices and ranks of the inputs.
std::string structure_text(const ir::Graph& graph) {
  std::string text;
  for (const auto& input : graph.inputs) {
    const auto* tensor = graph.type_of(input.value).tensor();
    text += tensor == nullptr ? ir::print(graph.type_of(input.value))
                              : fmt::format("{} {} rank {}", ir::name(tensor->dtype),
                                            ir::to_string(tensor->device), tensor->sizes.size());
    text += '\n';
  }
  for (const auto& node : graph.nodes) text += fmt::format("{} {}\n", node.op, node.outputs.size());
  return text;
}

}  // namespace

std::string why_not_cacheable(const Options& options) {
  if (const auto* policy = std::get_if<UserPolicy>(&options.policy); policy != nullptr && policy->id.empty())
    return "the user's policy has no id";
  if (options.debug_compare) return "Options::debug_compare is set";
  return why_not_cacheable();
}

cache::Key function_key(const PlanSettings& settings, const ir::Graph& graph, const CaptureFacts& facts,
                        const KeyFacts& surroundings) {
  const auto& options = settings.options;
  cache::Key key;
  add_system(key, settings.lowering->toolchain_name(), settings.lowering->isa_name());
  if (auto device = settings.lowering->cuda_name(graph); !device.empty())
    key.add_text("cuda", std::move(device));
  key.add_text("libtorch", surroundings.libtorch);
  key.add_text("options", options_text(options) + (settings.effects ? "" : "without effects\n"));
  key.add_text("tag", options.cache_tag);
  key.add_text("ambient", surroundings.ambient);
  key.add_text("gradients", facts_text(facts));
  key.add_text("inputs", inputs_text(graph));
  ByteWriter bytes;
  ir::write(bytes, graph, {false, scopes_matter(options)});
  key.add_bytes("graph", bytes.bytes());
  if (!surroundings.custom_ops.empty()) key.add_text("custom_ops", surroundings.custom_ops);
  return key;
}

cache::Key sizes_key(const Options& options, const ir::Graph& graph, const KeyFacts& surroundings) {
  cache::Key key;
  key.add_text("antegrad", own_build());
  auto text = options_text(options) + fmt::format("dynamic {}\n", static_cast<int>(options.dynamic));
  for (const auto& size : options.dynamic_sizes)
    text += fmt::format("size {} of tensor {}: {} to {}, multiple of {}, named {}\n", size.dim, size.tensor,
                        size.min, size.max, size.multiple, size.name);
  key.add_text("options", std::move(text));
  key.add_text("tag", options.cache_tag);
  key.add_text("ambient", surroundings.ambient);
  key.add_text("structure", structure_text(graph));
  return key;
}

}  // namespace antegrad::compiler
