#include "engine/segment_tracer.h"

#include <ATen/TensorOperators.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/engine.h>

#include <algorithm>

#include "antegrad/error.h"
#include "antegrad/options.h"
#include "aten/autograd_members.h"
#include "engine/node_functions.h"
#include "engine/scalars.h"

namespace antegrad::engine {
namespace {

namespace tda = torch::dynamo::autograd;

/// Sums as the engine does, without writing to either tensor.
void add_to(at::Tensor& sum, at::Tensor&& gradient) {
  if (gradient.defined()) sum = sum.defined() ? sum + gradient : std::move(gradient);
}

}  // namespace

/// While it lives, stand-ins replace saved tensors.
class SegmentTracer::StandIns {
 public:
  StandIns(tda::TensorArgs& arguments, const at::Tensor* stand_ins) : arguments_(arguments) {
    for (const auto& input : arguments_.inputs) arguments_.lookup(input).proxy_tensor = *stand_ins++;
  }
  ~StandIns() {
    for (const auto& input : arguments_.inputs) arguments_.lookup(input).proxy_tensor.reset();
  }
  StandIns(const StandIns&) = delete;
  StandIns& operator=(const StandIns&) = delete;

 private:
  tda::TensorArgs& arguments_;
};

void SegmentTracer::distribute(size_t from, variable_list&& gradients, std::vector<variable_list>& inside,
                               variable_list& outside) const {
  const auto targets = plan_.targets_of(from);
  for (size_t i = 0; i < std::min(gradients.size(), targets.size()); ++i) {
    if (gradients[i].defined() && gradients[i].layout() != at::kStrided)
      throw Error(ErrorCode::UnsupportedTensor, "compiled autograd",
                  fmt::format("{} returns a sparse gradient", plan_.nodes[from]->name()));
    const auto& [kind, index, input] = targets[i];
    if (kind == Target::Kind::None) continue;
    add_to(kind == Target::Kind::Outside ? outside[index] : inside[index][input], std::move(gradients[i]));
  }
}

std::string SegmentTracer::name_of(size_t n) const {
  const auto& node = *plan_.nodes[n];
  return kind_of(node) == NodeKind::Compiled ? fmt::format("aot{}", n) : fmt::format("{}_{}", node.name(), n);
}

/// Traces a node as the engine runs it, hooks included. Puts gradients that are asked for or retained into
/// `seen`.
variable_list SegmentTracer::trace_node(size_t n, variable_list incoming, const at::Tensor& number,
                                        tda::TraceState& state, variable_list& seen) {
  const auto name = name_of(n);
  HookTracer hooks(*plan_.nodes[n], name, failed_hook_);
  const auto see = [&](const std::vector<Slot>& slots, size_t first) {
    for (size_t i = 0; i < slots.size(); ++i)
      if (slots[i].place == n) seen[first + i] = incoming[slots[i].input];
  };
  see(plan_.part.asked_for, 0);
  hooks.tensor_hooks(incoming);
  see(plan_.retained, plan_.part.asked_for.size());
  hooks.pre_hooks(incoming);
  auto gradients = apply_node(n, incoming, number, state);
  hooks.post_hooks(gradients, incoming);
  return gradients;
}

/// Traces the hooks of a trailing node on its gradient, which is complete by now.
void SegmentTracer::trace_trailing(size_t n, variable_list& outside) {
  const auto& [node, slot] = plan_.trailing[n];
  const auto full_name = node->name();
  const auto name = fmt::format("{}_{}", full_name.substr(full_name.rfind(':') + 1), plan_.nodes.size() + n);
  for (size_t i = 0; i < plan_.outgoing.size(); ++i) {
    if (plan_.outgoing[i] != slot) continue;
    variable_list gradients = {std::move(outside[i])};
    HookTracer(*node, name, failed_hook_).tensor_hooks(gradients);
    outside[i] = std::move(gradients[0]);
  }
}

variable_list SegmentTracer::apply_node(size_t n, const variable_list& incoming, const at::Tensor& number,
                                        tda::TraceState& state) {
  auto& node = *plan_.nodes[n];
  const Scope scope(name_of(n));
  collector_->call().node = plan_.nodes[n];
  tda::SwapSavedVariables swap(collector_->compiler(), state, nullptr, collector_->call());
  try {
    auto gradients =
        number.defined() ? apply_with_number(node, incoming, number) : node.apply_with_saved(incoming, swap);
    auto& edges = const_cast<torch::autograd::edge_list&>(node.next_edges());
    swap.before(edges);
    torch::autograd::validate_outputs(edges, gradients, [&](const std::string& text) {
      return fmt::format("{} returned an invalid gradient: {}", node.name(), text);
    });
    swap.after(edges);
    return gradients;
  } catch (...) {
    aten::put_back(swap);
    throw;
  }
}

/// Replaces the sizes that nodes have saved by those of stand-ins.
tda::TraceState SegmentTracer::stand_in_sizes(const std::vector<at::Tensor>& stand_ins) {
  auto& compiler = collector_->compiler();
  const auto* first = stand_ins.data() + stand_ins.size() - state_.sizes();
  auto use = state_.size_uses().begin();
  const auto next = [&](int64_t own) {
    const auto which = *use++;
    return which == SegmentState::kFixedSize ? own : first[which].size(0);
  };
  std::vector<std::optional<c10::SymInt>> sizes;
  for (const auto& size : compiler.all_size_inputs) sizes.emplace_back(next(size.value));
  compiler.lifted_ivalue_args.next = 0;
  for (auto& lifted : compiler.lifted_ivalue_args.args) {
    const auto& own = *lifted.actual_ptr;
    lifted.proxy = own.isInt() ? c10::IValue(next(own.toInt())) : own;
  }
  return tda::TraceState(std::move(sizes), 0);
}

variable_list SegmentTracer::trace(const std::vector<at::Tensor>& stand_ins) {
  collector_ = state_.collect_for_tracing(plan_);
  const auto& [items, incoming, asked_for, trailing] = plan_.part;
  const auto* next = stand_ins.data() + incoming.size();
  const StandIns saved(collector_->compiler().tensor_args, next);
  next += state_.tensors().size();  // the numbers
  auto state = stand_in_sizes(stand_ins);
  std::vector<variable_list> inside;
  for (const auto& node : plan_.nodes) inside.emplace_back(node->num_inputs());
  failed_hook_ = {};
  variable_list outside(plan_.outgoing.size()), seen(asked_for.size() + plan_.retained.size());
  for (size_t i = 0; i < incoming.size(); ++i)
    add_to(inside[incoming[i].place][incoming[i].input], at::Tensor(stand_ins[i]));
  auto number = state_.numbers().begin();
  size_t end = 0;
  for (size_t n = 0; n < plan_.nodes.size(); ++n) {
    const bool has_number = number != state_.numbers().end() && number->first == n;
    auto gradients = trace_node(n, std::move(inside[n]), has_number ? *next++ : at::Tensor(), state, seen);
    if (has_number) ++number;
    distribute(n, std::move(gradients), inside, outside);
    for (; end < trailing.size() && trailing[end].turn == n + 1; ++end) trace_trailing(end, outside);
  }
  outside.insert(outside.end(), seen.begin(), seen.end());
  return outside;
}

}  // namespace antegrad::engine
