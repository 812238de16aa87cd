#include "compiler/regions/region.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "antegrad/error.h"
#include "capture/mode.h"
#include "capture/recorder.h"
#include "ir/ops.h"

namespace antegrad::compiler {
namespace {

constexpr std::array<std::string_view, 6> kNames = {"cond", "while_loop", "scan",
                                                    "map",  "call",       "checkpoint"};

ir::Arg to_arg(const std::vector<std::vector<int64_t>>& lists) {
  ir::Arg::List out;
  for (const auto& list : lists) out.push_back(compiler::to_arg(list));
  return out;
}

std::vector<std::vector<int64_t>> lists_of(const ir::Arg& arg) {
  std::vector<std::vector<int64_t>> out;
  if (const auto* lists = arg.as<ir::Arg::List>())
    for (const auto& list : *lists) out.push_back(integers_of(list));
  return out;
}

ir::Arg::List values(const std::vector<ir::ValueId>& ids) { return ir::Arg::List(ids.begin(), ids.end()); }

[[noreturn]] void refuse_node(const ir::Node& node, const char* fact) {
  throw Error(ErrorCode::InvalidArgument, "run:" + node.op, fact, "Check the graph text");
}

bool is_region(const ir::Node& node) {
  return node.op.starts_with(kRegionOp) && node.op != kRegionBackwardOp;
}

/// Removes the nodes that have nothing but effects. `plain`: numbers of nodes. Returns whether the others
/// have an order.
bool drop_effects(ir::GraphPtr& body, std::vector<int64_t>& plain) {
  auto graph = *body;
  graph.nodes.clear();
  std::vector<int64_t> still_plain;
  bool ordered = false;
  for (size_t i = 0; i < body->nodes.size(); ++i) {
    const auto& node = body->nodes[i];
    if (node.effects.ordered && node.outputs.empty() && node.effects.writes.empty()) continue;
    if (std::find(plain.begin(), plain.end(), static_cast<int64_t>(i)) != plain.end())
      still_plain.push_back(static_cast<int64_t>(graph.nodes.size()));
    graph.nodes.push_back(without_effects(node));
    ordered |= graph.nodes.back().effects.ordered || ir::raises(node.op) != ir::Raises::Never;
  }
  body = std::make_shared<const ir::Graph>(std::move(graph));
  plain = std::move(still_plain);
  return ordered;
}

thread_local CapturesRegions* innermost = nullptr;

}  // namespace

std::vector<int64_t> integers_of(const ir::Arg& arg) {
  std::vector<int64_t> out;
  if (const auto* list = arg.as<ir::Arg::List>())
    for (const auto& element : *list)
      if (const auto* dim = element.as<ir::Dim>()) out.push_back(dim->constant());
  return out;
}

ir::Arg to_arg(const std::vector<int64_t>& integers) {
  ir::Arg::List out;
  for (const auto integer : integers) out.emplace_back(integer);
  return out;
}

const ir::Arg* find_attr(const ir::Node& node, std::string_view name) {
  for (const auto& attr : node.attrs)
    if (attr.name == name) return &attr.value;
  return nullptr;
}

bool has_checkpoint(const ir::Graph& graph) {
  const auto in_body = [](const ir::Arg& arg) {
    const auto* body = arg.as<ir::GraphPtr>();
    return body != nullptr && has_checkpoint(**body);
  };
  const auto is_checkpoint = [](std::string_view op) {
    return op.starts_with(kRegionOp) && op.substr(kRegionOp.size()) == kNames.back();
  };
  return std::ranges::any_of(graph.nodes, [&](const auto& node) {
    return is_checkpoint(node.op) || std::ranges::any_of(node.args, in_body);
  });
}

ir::Node to_node(const Region& region, const std::vector<ir::ValueId>& operands) {
  ir::Node node;
  node.op = std::string(kRegionOp) + std::string(kNames[ordinal(region.kind)]);
  for (const auto& body : region.bodies) node.args.emplace_back(body);
  node.args.emplace_back(values(operands));
  if (!region.name.empty()) node.attrs.push_back({"name", region.name});
  if (region.carried > 0) node.attrs.push_back({"carried", region.carried});
  if (region.sliced > 0) node.attrs.push_back({"sliced", region.sliced});
  node.attrs.push_back({"plain", to_arg(region.plain)});
  node.attrs.push_back({"reached", to_arg(region.reached)});
  if (!region.derivatives.empty()) {
    std::vector<std::vector<int64_t>> lists;
    for (const auto& derivative : region.derivatives)
      lists.insert(lists.end(), {derivative.results, derivative.operands});
    node.attrs.push_back({"derivatives", to_arg(lists)});
  }
  node.attrs.push_back({"settings", compiler::to_arg(region.settings)});
  if (!region.cache_tag.empty()) node.attrs.push_back({"tag", region.cache_tag});
  // A derivative draws from the state that it is given.
  node.effects.random = region.random && region.derivatives.empty();
  node.effects.ordered = region.ordered;
  if (region.random && !region.derivatives.empty()) node.attrs.push_back({"random", true});
  return node;
}

Region region_of(const ir::Node& node) {
  Region region;
  const auto kind =
      std::find(kNames.begin(), kNames.end(), std::string_view(node.op).substr(kRegionOp.size()));
  if (!node.op.starts_with(kRegionOp) || kind == kNames.end()) refuse_node(node, "there is no such region");
  region.kind = static_cast<RegionKind>(kind - kNames.begin());
  for (const auto& arg : node.args)
    if (const auto* graph = arg.as<ir::GraphPtr>()) region.bodies.push_back(*graph);
  const size_t bodies = region.kind == RegionKind::Cond || region.kind == RegionKind::WhileLoop ? 2 : 1;
  if (region.bodies.size() != bodies || node.args.size() != bodies + 1)
    refuse_node(node, "it has another number of graphs");
  const auto integer = [&](const char* name) {
    const auto* arg = find_attr(node, name);
    return arg != nullptr && arg->as<ir::Dim>() ? arg->as<ir::Dim>()->constant() : 0;
  };
  const auto text = [&](const char* name) {
    const auto* arg = find_attr(node, name);
    return arg != nullptr && arg->as<std::string>() ? *arg->as<std::string>() : std::string();
  };
  const auto lists = [&](const char* name) {
    const auto* arg = find_attr(node, name);
    return arg != nullptr ? lists_of(*arg) : std::vector<std::vector<int64_t>>();
  };
  region.name = text("name");
  region.carried = integer("carried");
  region.sliced = integer("sliced");
  region.plain = lists("plain");
  region.plain.resize(bodies);
  region.reached = lists("reached");
  const auto derivatives = lists("derivatives");
  for (size_t i = 0; i + 1 < derivatives.size(); i += 2)
    region.derivatives.push_back({derivatives[i], derivatives[i + 1]});
  region.random = node.effects.random || find_attr(node, "random") != nullptr;
  region.ordered = node.effects.ordered;
  if (const auto* settings = find_attr(node, "settings")) region.settings = integers_of(*settings);
  region.cache_tag = text("tag");
  return region;
}

std::vector<ir::ValueId> operands_of(const ir::Node& node) {
  std::vector<ir::ValueId> out;
  ir::for_each_input(node, [&](ir::ValueId v) { out.push_back(v); });
  return out;
}

Region without_effects(Region region) {
  if (!region.ordered) return region;
  region.ordered = false;
  for (size_t i = 0; i < region.bodies.size(); ++i)
    region.ordered |= drop_effects(region.bodies[i], region.plain[i]);
  return region;
}

ir::Node without_effects(ir::Node node) {
  if (!is_region(node) || !node.effects.ordered) return node;
  auto quiet = to_node(without_effects(region_of(node)), operands_of(node));
  for (const auto* name : {kSession, kState})
    if (const auto* attr = find_attr(node, name)) quiet.attrs.push_back({name, *attr});
  node.args = std::move(quiet.args);
  node.attrs = std::move(quiet.attrs);
  node.effects.ordered = quiet.effects.ordered;
  return node;
}

ir::Node backward_node(ir::ValueId session, const std::vector<ir::ValueId>& tangents,
                       const RegionDerivative& derivative) {
  ir::Node node;
  node.op = std::string(kRegionBackwardOp);
  node.args = {session, values(tangents)};
  node.attrs = {{"results", compiler::to_arg(derivative.results)},
                {"operands", compiler::to_arg(derivative.operands)}};
  return node;
}

RegionDerivative derivative_of(const ir::Node& backward) {
  const auto* results = find_attr(backward, "results");
  const auto* operands = find_attr(backward, "operands");
  if (results == nullptr || operands == nullptr) refuse_node(backward, "it lacks its lists");
  return {integers_of(*results), integers_of(*operands)};
}

/// Settings are part of keys of the cache: what a function has stored, one with Cache::Strict must find.
std::vector<int64_t> settings_of(const Options& options) {
  const auto cache = options.cache == Cache::Off ? Cache::Off : Cache::On;
  return {static_cast<int64_t>(options.backend),
          static_cast<int64_t>(options.rng),
          static_cast<int64_t>(options.toolchain),
          static_cast<int64_t>(options.isa),
          options.cuda_kernels,
          static_cast<int64_t>(options.compile_failure),
          options.debug_compare,
          static_cast<int64_t>(cache)};
}

Options options_of(const Region& region) {
  Options options;
  options.name = region.name.empty() ? "region" : region.name;
  auto settings = region.settings;
  if (settings.size() == 8) {
    options.backend = static_cast<Backend>(settings[0]);
    options.rng = static_cast<Rng>(settings[1]);
    options.toolchain = static_cast<ToolchainChoice>(settings[2]);
    options.isa = static_cast<Isa>(settings[3]);
    options.cuda_kernels = settings[4] != 0;
    options.compile_failure = static_cast<CompileFailure>(settings[5]);
    options.debug_compare = settings[6] != 0;
    options.cache = static_cast<Cache>(settings[7]);
  }
  options.cache_tag = region.cache_tag;
  options.dynamic = Dynamic::None;
  options.writable_inputs = true;  // what a body has read may be written later
  options.max_versions = 64;
  return options;
}

CapturesRegions::CapturesRegions(const Options& options) : options_(options), outer_(innermost) {
  innermost = this;
}
CapturesRegions::~CapturesRegions() { innermost = outer_; }
const Options* CapturesRegions::options() { return innermost != nullptr ? &innermost->options_ : nullptr; }
void CapturesRegions::note(std::string what) {
  if (innermost != nullptr) innermost->notes_.push_back(std::move(what));
}
std::vector<std::string> CapturesRegions::take_notes() { return std::move(notes_); }

bool captures_regions() {
  const auto* recorder = capture::active_recorder();
  return recorder != nullptr && recorder->tape == nullptr && CapturesRegions::options() != nullptr;
}

}  // namespace antegrad::compiler
