#include "compiler/regions/in_place.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

#include "compiler/regions/body_plan.h"
#include "ir/binary.h"
#include "ir/calls.h"
#include "ir/restride.h"
#include "ir/text.h"
#include "util/byte_stream.h"

namespace antegrad::compiler {
namespace {

/// The attribute of a region that says why it is a step of its own.
constexpr const char* kApart = "apart";

bool is_call_of_region(const ir::Node& node) { return node.op == "antegrad.region.call"; }

bool is_on_cpu(const ir::Graph& graph) {
  return std::ranges::all_of(graph.values, [](const ir::Value& value) {
    const auto* tensor = value.type.tensor();
    return tensor == nullptr || tensor->device.kind == ir::Device::Kind::Cpu;
  });
}

/// Whether the body has nodes that are kept in order with others for more than their errors.
bool has_order(const ir::Graph& body) {
  return std::ranges::any_of(body.nodes, [](const ir::Node& node) { return node.effects.ordered; });
}

/// Why a region cannot be part of the graph, as far as it says so itself; "" if it can.
std::string why_apart(const Region& region, const ir::Graph& graph) {
  if (region.random) return "it draws random numbers";
  if (has_order(*region.bodies[0])) return "it has effects";
  if (!graph.symbols.empty() || !region.bodies[0]->symbols.empty()) return "its sizes or numbers are symbols";
  if (!is_on_cpu(graph)) return "its tensors are not on the CPU";
  return {};
}

class Placing {
 public:
  Placing(const CaptureSettings& settings, ir::Graph graph) : settings_(settings), graph_(std::move(graph)) {}

  ir::Graph run() {
    const auto count = graph_.values.size();
    replacement_.resize(count);
    find_users();
    auto nodes = std::exchange(graph_.nodes, {});
    for (auto& node : nodes) {
      if (is_call_of_region(node))
        place_call(std::move(node));
      else if (node.op == kRegionBackwardOp && session_of(node) != nullptr)
        place_backward(node, *session_of(node));
      else
        graph_.nodes.push_back(std::move(node));
    }
    ir::replace_uses(graph_, replacement_);
    graph_.compact();
    return std::move(graph_);
  }

 private:
  /// A body in use, by all regions with equal ones.
  struct Known {
    BodyPlan plan;
    std::map<std::string, BackwardPlan> backward;  ///< by derivative
  };
  /// A call that has been placed: what steps back through it are called with.
  struct Session {
    Known* body = nullptr;
    std::vector<ir::ValueId> saved;
  };

  /// Marks sessions that more than steps back read, which does not happen in graphs of captures.
  void find_users() {
    kept_elsewhere_.resize(graph_.values.size());
    for (const auto& node : graph_.nodes) {
      if (node.op == kRegionBackwardOp) continue;
      ir::for_each_input(node, [&](ir::ValueId v) { kept_elsewhere_[v] = true; });
    }
    for (const auto& output : graph_.outputs)
      if (output.value.valid()) kept_elsewhere_[output.value] = true;
  }

  const Session* session_of(const ir::Node& backward) const {
    const auto* value = backward.args.empty() ? nullptr : backward.args[0].as<ir::ValueId>();
    if (value == nullptr) return nullptr;
    const auto found = sessions_.find(value->index);
    return found != sessions_.end() ? &found->second : nullptr;
  }

  ir::ValueId now(ir::ValueId value) const {
    const bool replaced = std::cmp_less(value.index, replacement_.size()) && replacement_[value].valid();
    return replaced ? replacement_[value] : value;
  }

  Known& known(const Region& region, const std::vector<int64_t>& targets, const ir::Node& node,
               size_t results) {
    BodyUse use{region, targets, {}, {}};
    ByteWriter key;
    ir::write(key, *region.bodies[0]);
    for (const auto operand : operands_of(node)) {
      use.operands.push_back(graph_.tensor_type(operand));
      use.operands.back().offset = 0;
      key.string(ir::print(ir::Type(use.operands.back())));
    }
    key.string(fmt::format("{} {} {}", region.plain[0], targets, region.name));
    for (const auto& derivative : region.derivatives)
      key.string(fmt::format("{} {}", derivative.results, derivative.operands));
    auto [at, added] = bodies_.try_emplace(key.take());
    if (added) {
      for (size_t k = 0; k < results; ++k) use.results.push_back(graph_.tensor_type(node.outputs[k]));
      at->second.plan = plan_body(settings_, use);
    }
    return at->second;
  }

  void leave(ir::Node node, const std::string& why) {
    node.attrs.push_back({kApart, why});
    graph_.nodes.push_back(std::move(node));
  }

  void place_call(ir::Node node) {
    const auto region = region_of(node);
    if (auto why = why_apart(region, graph_); !why.empty()) return leave(std::move(node), why);
    const auto* attr = find_attr(node, kSession);
    const auto targets = attr != nullptr ? integers_of(*attr) : std::vector<int64_t>();
    const auto results = node.outputs.size() - (attr != nullptr ? 1 : 0);
    if (attr != nullptr && kept_elsewhere_[node.outputs[results]])
      return leave(std::move(node), "it is kept");
    auto& body = known(region, targets, node, results);
    if (!body.plan.problem.empty()) return leave(std::move(node), body.plan.problem);
    const auto operands = operands_of(node);
    std::vector<ir::ValueId> arguments;
    for (const auto i : body.plan.operands) arguments.push_back(now(operands[i]));
    const auto& callee = *body.plan.forward;
    auto call = ir::call_node(body.plan.forward, arguments);
    call.effects.ordered = node.effects.ordered;
    call.provenance = node.provenance;
    call.outputs.assign(node.outputs.begin(), node.outputs.begin() + static_cast<ptrdiff_t>(results));
    for (size_t k = results; k < callee.outputs.size(); ++k)
      call.outputs.push_back(add_saved(callee, k, call));
    if (attr != nullptr) {
      Session session{&body, {}};
      for (const auto& saved : body.plan.saved)
        session.saved.push_back(saved.input >= 0 ? arguments[saved.input] : call.outputs[saved.output]);
      sessions_.emplace(node.outputs[results].index, std::move(session));
    }
    graph_.nodes.push_back(std::move(call));
  }

  /// Adds the value for an output of a graph, on the memory of those before it.
  ir::ValueId add_saved(const ir::Graph& callee, size_t output, const ir::Node& call) {
    const auto value = callee.outputs[output].value;
    for (size_t k = 0; k < output; ++k)
      if (callee.storage_of(callee.outputs[k].value) == callee.storage_of(value))
        return graph_.add_value(callee.type_of(value), graph_.storage_of(call.outputs[k]));
    return graph_.add_value(callee.type_of(value));
  }

  const BackwardPlan& backward_of(Known& body, const ir::Node& node) const {
    const auto derivative = derivative_of(node);
    auto [at, added] =
        body.backward.try_emplace(fmt::format("{} {}", derivative.results, derivative.operands));
    if (added) {
      std::vector<ir::TensorType> types;
      for (const auto output : node.outputs) types.push_back(graph_.tensor_type(output));
      at->second = plan_backward(body.plan, derivative, types);
    }
    return at->second;
  }

  void place_backward(const ir::Node& node, const Session& session) {
    const auto derivative = derivative_of(node);
    const auto& plan = backward_of(*session.body, node);
    const auto given = operands_of(node);  // the session, then tangents
    const auto value_of = [&](const BackwardPlan::Argument& argument) {
      if (argument.saved >= 0) return session.saved[argument.saved];
      const auto at = std::ranges::find(derivative.results, argument.result) - derivative.results.begin();
      return now(given[static_cast<size_t>(at) + 1]);
    };
    ir::Node call;
    if (plan.graph) {
      std::vector<ir::ValueId> arguments;
      std::vector<int64_t> extra;
      for (size_t i = 0; i < plan.arguments.size(); ++i) {
        const auto& argument = plan.arguments[i];
        if (argument.saved >= 0 && session.body->plan.extra[argument.saved])
          extra.push_back(static_cast<int64_t>(i));
        arguments.push_back(
            as_input(value_of(argument), plan.graph->tensor_type(plan.graph->inputs[i].value), node));
      }
      call = ir::call_node(plan.graph, arguments);
      if (!extra.empty()) call.attrs.push_back({ir::kExtra, to_arg(extra)});
      call.provenance = node.provenance;
      call.outputs.resize(plan.graph->outputs.size());
    }
    std::vector<std::pair<ir::ValueId, ir::ValueId>> copies;
    for (size_t n = 0; n < plan.gradients.size(); ++n) {
      const auto& gradient = plan.gradients[n];
      const auto value = node.outputs[n];
      if (gradient.output < 0) {
        copies.emplace_back(value_of(gradient.same), value);
      } else if (auto& output = call.outputs[gradient.output]; !output.valid()) {
        output = value;
      } else {
        replacement_[value] = output;
      }
    }
    if (plan.graph) graph_.nodes.push_back(std::move(call));
    for (const auto& [from, to] : copies) give(from, to, node);
  }

  /// A tangent with the strides that the graph was made for.
  ir::ValueId as_input(ir::ValueId value, const ir::TensorType& type, const ir::Node& origin) {
    if (graph_.tensor_type(value).strides == type.strides) return value;
    auto own = type;
    own.offset = 0;
    const auto copy = graph_.add_value(std::move(own));
    add_restride(value, copy, origin);
    return copy;
  }

  /// Makes `to` what `from` is: the same value, if that is on memory of its own.
  void give(ir::ValueId from, ir::ValueId to, const ir::Node& origin) {
    if (graph_.storage_of(from) == from && graph_.tensor_type(from) == graph_.tensor_type(to))
      replacement_[to] = from;
    else
      add_restride(from, to, origin);
  }

  void add_restride(ir::ValueId from, ir::ValueId to, const ir::Node& origin) {
    auto node = ir::restride_node(from, graph_.tensor_type(to));
    node.outputs = {to};
    node.provenance = origin.provenance;
    graph_.nodes.push_back(std::move(node));
  }

  const CaptureSettings& settings_;
  ir::Graph graph_;
  ir::PerValue<bool> kept_elsewhere_;
  ir::PerValue<ir::ValueId> replacement_;
  std::map<std::string, Known> bodies_;  ///< by their contents and what gets gradients
  std::map<int32_t, Session> sessions_;  ///< by the value that stood for what a region keeps
};

}  // namespace

ir::Graph with_bodies_in_place(const CaptureSettings& settings, ir::Graph graph, const CaptureFacts& facts) {
  if (facts.lazy_bits || std::ranges::none_of(graph.nodes, is_call_of_region)) return graph;
  return Placing(settings, std::move(graph)).run();
}

std::vector<std::string> bodies_not_in_place(const ir::Graph& graph) {
  std::vector<std::string> out;
  for (const auto& node : graph.nodes) {
    const auto* why = find_attr(node, kApart);
    if (why == nullptr || !is_call_of_region(node)) continue;
    const auto name = region_of(node).name;
    out.push_back(fmt::format("region{}{}: called in each step, since {}", name.empty() ? "" : " ", name,
                              *why->as<std::string>()));
  }
  return out;
}

}  // namespace antegrad::compiler
