#include "engine/backward_pass.h"

#include <ATen/TensorOperators.h>
#include <c10/core/StreamGuard.h>
#include <fmt/format.h>

#include <algorithm>

#include "engine/phases.h"

namespace antegrad::engine {

BackwardPass::BackwardPass(std::shared_ptr<Node> root, const torch::autograd::GraphTask& task, size_t outputs)
    : root_(std::move(root)), task_(task), graph_(*root_, task), asked_for_(outputs) {
  plan();
}

/// What was planned since the last cut.
struct BackwardPass::Plan {
  Part part;
  std::vector<Step> after;  ///< steps that run after the segment and need not cut it
  uint32_t segments = 0;
};

void BackwardPass::close(Plan& plan) {
  auto& items = plan.part.items;
  if (items.size() == 1 && graph_.items[items[0]].kind == NodeKind::Compiled) {
    steps_.push_back({items[0], nullptr});  // has code already, or makes its own
  } else if (!items.empty()) {
    for (uint32_t place = 0; place < items.size(); ++place) {
      graph_.items[items[place]].step = plan.segments;
      graph_.items[items[place]].place = place;
    }
    ++plan.segments;
    steps_.push_back({kNoNode, std::make_unique<Part>(std::move(plan.part))});
  }
  for (auto& step : plan.after) steps_.push_back(std::move(step));
  plan.part = {};
  plan.after.clear();
}

/// Decides where each node runs.
void BackwardPass::plan() {
  Plan plan;
  auto& part = plan.part;
  for (const auto index : graph_.order) {
    const auto& item = graph_.items[index];
    auto& node = graph_.node(index);
    const auto place = static_cast<uint32_t>(part.items.size());
    if (!item.needed || item.kind == NodeKind::Accumulate) {
      if (place != 0 && node.num_inputs() == 1 && has_traceable_tensor_hooks(node))
        part.trailing.push_back({index, place});
      plan.after.push_back({index, nullptr});
      continue;
    }
    const char* cut =
        can_be_traced(node, item.kind) ? why_hooks_cut(node) : "it is not a node that can be traced";
    if (cut != nullptr) {
      cuts_.emplace_back(&node, cut);
      close(plan);
      steps_.push_back({index, nullptr});
      continue;
    }
    part.items.push_back(index);
    if (!node.retains_grad_hooks().empty()) plan.after.push_back({index, nullptr, true});
    if (item.captures != nullptr)
      for (const auto& capture : *item.captures) {
        const auto input = static_cast<uint32_t>(capture.input_idx_);
        part.asked_for.push_back({item.first_slot + input, place, input});
      }
  }
  close(plan);
  find_incoming();
  find_trailing();
  PhaseClock::mark(Phase::Order);
}

/// Calls `call` with the segment that a gradient comes from (kNoNode when there is none) and where it goes.
template <class Call>
void BackwardPass::for_each_link(const Call& call) const {
  const auto visit = [&](uint32_t step, size_t first, size_t count) {
    for (size_t i = first; i < first + count; ++i)
      if (graph_.links[i].item != kNoNode) call(step, graph_.links[i]);
  };
  visit(kNoNode, 0, root_->num_outputs());
  for (uint32_t i = 0; i < graph_.items.size(); ++i)
    if (graph_.items[i].needed)
      visit(graph_.items[i].step, graph_.items[i].first_link, graph_.node(i).num_outputs());
}

/// Finds the slots of each segment that receive gradients from elsewhere.
void BackwardPass::find_incoming() {
  std::vector<bool> from_elsewhere(graph_.slots);
  for_each_link([&](uint32_t step, const PassGraph::Link& link) {
    if (step == kNoNode || graph_.items[link.item].step != step) from_elsewhere[link.slot] = true;
  });
  for (auto& step : steps_) {
    if (step.part == nullptr) continue;
    for (const auto item : step.part->items)
      for (uint32_t i = 0; i < graph_.node(item).num_inputs(); ++i)
        if (const auto slot = graph_.items[item].first_slot + i; from_elsewhere[slot])
          step.part->incoming.push_back({slot, graph_.items[item].place, i});
  }
}

/// Drops trailing nodes whose gradient does not come from their segment alone: their hooks cannot be part of
/// it.
void BackwardPass::find_trailing() {
  std::unordered_map<uint32_t, uint32_t> segment_of;  // by slot of the trailing node
  for (const auto& step : steps_)
    if (step.part != nullptr)
      for (const auto& end : step.part->trailing)
        segment_of[graph_.items[end.item].first_slot] = graph_.items[step.part->items[0]].step;
  if (segment_of.empty()) return;
  for_each_link([&](uint32_t step, const PassGraph::Link& link) {
    const auto found = segment_of.find(link.slot);
    if (found != segment_of.end() && found->second != step) segment_of.erase(found);
  });
  for (auto& step : steps_)
    if (step.part != nullptr)
      std::erase_if(step.part->trailing, [&](const TrailingNode& end) {
        return segment_of.count(graph_.items[end.item].first_slot) == 0;
      });
}

void BackwardPass::add(uint32_t slot, at::Tensor&& gradient) {
  if (!gradient.defined()) return;
  auto& sum = slots_[slot];
  sum = sum.defined() ? sum + gradient : std::move(gradient);
}

void BackwardPass::distribute(uint32_t first_link, variable_list&& gradients) {
  for (size_t i = 0; i < gradients.size(); ++i)
    if (const auto& link = graph_.links[first_link + i]; link.item != kNoNode)
      add(link.slot, std::move(gradients[i]));
}

variable_list BackwardPass::take(uint32_t item) {
  const auto first = slots_.begin() + graph_.items[item].first_slot;
  const auto end = first + graph_.node(item).num_inputs();
  variable_list taken(std::make_move_iterator(first), std::make_move_iterator(end));
  return taken;
}

void BackwardPass::capture(const PassGraph::Item& item, const variable_list& incoming,
                           std::optional<uint32_t> input) {
  if (item.captures == nullptr) return;
  for (const auto& capture : *item.captures) {
    if (input && static_cast<uint32_t>(capture.input_idx_) != *input) continue;
    auto& gradient = asked_for_[capture.output_idx_];
    gradient = incoming[capture.input_idx_];
    for (const auto& hook : capture.DO_NOT_USE_DEPRECATED_get_capture_hooks()) gradient = (*hook)(gradient);
  }
}

/// Runs one node as the engine does.
void BackwardPass::run_item(uint32_t index) {
  const auto& item = graph_.items[index];
  auto& node = **item.node;
  auto incoming = take(index);
  const auto call_tensor_hooks = [&] {
    if (hooks_done_.erase(index) != 0) return;
    for (const auto& hook : node.tensor_pre_hooks()) incoming = (*hook)(incoming);
    for (const auto& [input, hook] : node.retains_grad_hooks()) incoming = (*hook)(incoming);
  };
  if (!item.needed) call_tensor_hooks();
  capture(item, incoming);
  if (!item.needed) return;
  call_tensor_hooks();
  for (const auto& hook : node.pre_hooks()) incoming = (*hook)(incoming);
  if (!task_.keep_graph_) node.will_release_variables();
  const bool has_post_hooks = !node.post_hooks().empty();
  auto copy = has_post_hooks ? incoming : variable_list();
  auto gradients = node(std::move(incoming));
  torch::autograd::validate_outputs(node.next_edges(), gradients, [&](const std::string& text) {
    return fmt::format("Function {} returned an {}", node.name(), text);
  });
  for (const auto& hook : node.post_hooks()) gradients = (*hook)(gradients, copy);
  if (!task_.keep_graph_) node.release_variables();
  gradients.resize(std::min<size_t>(gradients.size(), node.num_outputs()));
  distribute(item.first_link, std::move(gradients));
}

/// Runs a segment. Saved tensors are unpacked in its turn, as hooks and nodes before it may write to them.
void BackwardPass::run_part(Part part, const RunSegment& run,
                            const std::function<void(const std::string&)>& note) {
  const auto items = part.items;
  try {
    Segment segment(graph_, std::move(part));
    PhaseClock::mark(Phase::Key);
    if (run_segment(segment, run)) return;
  } catch (const CannotBeUnpacked& error) {
    note(error.what());
  }
  for (const auto item : items) run_item(item);
}

/// Returns false when nothing was run.
bool BackwardPass::run_segment(Segment& segment, const RunSegment& run) {
  variable_list gradients;
  for (const auto& slot : segment.plan().part.incoming) gradients.push_back(slots_[slot.slot]);
  const auto let_go = [&] {
    for (const auto& slot : segment.plan().part.incoming) slots_[slot.slot].reset();
    segment.release(task_.keep_graph_);
  };
  auto results = run(segment, std::move(gradients), let_go);
  if (!results) return false;
  auto result = results->begin();
  for (const auto slot : segment.plan().outgoing) add(slot, std::move(*result++));
  for (const auto& slot : segment.plan().part.asked_for) {
    const auto item = segment.plan().part.items[slot.place];
    variable_list incoming(graph_.node(item).num_inputs());
    incoming[slot.input] = std::move(*result++);
    capture(graph_.items[item], incoming, slot.input);
  }
  for (const auto& slot : segment.plan().retained) {
    const auto item = segment.plan().part.items[slot.place];
    auto& retained = retained_[item];
    retained.resize(graph_.node(item).num_inputs());
    retained[slot.input] = std::move(*result++);
  }
  for (const auto& end : segment.plan().part.trailing) hooks_done_.insert(end.item);
  return true;
}

/// Calls the hooks that retain gradients of an item of a segment, in its turn. Does nothing when the item ran
/// by itself after all.
void BackwardPass::retain(uint32_t item) {
  const auto found = retained_.find(item);
  if (found == retained_.end()) return;
  for (const auto& [input, hook] : graph_.node(item).retains_grad_hooks()) (*hook)(found->second);
  retained_.erase(found);
}

variable_list BackwardPass::run(const RunSegment& run_segment,
                                const std::function<void(const std::string&)>& note) {
  slots_.resize(graph_.slots);
  const c10::OptionalStreamGuard on_stream(graph_.stream);  // sets the device too, as the engine does
  distribute(0, (*root_)(variable_list()));
  for (auto& step : steps_) {
    if (step.retains)
      retain(step.item);
    else if (step.item != kNoNode)
      run_item(step.item);
    else
      run_part(std::move(*step.part), run_segment, note);
  }
  PhaseClock::mark(Phase::Give);
  return std::move(asked_for_);
}

}  // namespace antegrad::engine
