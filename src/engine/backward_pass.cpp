#include "engine/backward_pass.h"

#include <ATen/TensorOperators.h>
#include <fmt/format.h>

#include <algorithm>

#include "engine/phases.h"

namespace antegrad::engine {

BackwardPass::BackwardPass(std::shared_ptr<Node> root, const torch::autograd::GraphTask& task, size_t outputs)
    : root_(std::move(root)), task_(task), graph_(*root_, task), asked_for_(outputs) {
  plan();
}

/// Decides where each node runs.
void BackwardPass::plan() {
  std::vector<std::vector<uint32_t>> segments;
  std::vector<uint32_t> traced, after;
  const auto close = [&] {
    if (traced.size() == 1 && graph_.items[traced[0]].kind == NodeKind::Compiled) {
      steps_.push_back({traced[0], nullptr});  // has code already, or makes its own
    } else if (!traced.empty()) {
      for (uint32_t place = 0; place < traced.size(); ++place) {
        graph_.items[traced[place]].step = static_cast<uint32_t>(segments.size());
        graph_.items[traced[place]].place = place;
      }
      segments.push_back(std::move(traced));
      steps_.emplace_back();
    }
    for (const auto item : after) steps_.push_back({item, nullptr});
    traced.clear();
    after.clear();
  };
  for (const auto index : graph_.order) {
    const auto& item = graph_.items[index];
    if (!item.needed || item.kind == NodeKind::Accumulate) {
      after.push_back(index);
    } else if (item.captures == nullptr && can_be_traced(**item.node, item.kind)) {
      traced.push_back(index);
    } else {
      close();
      steps_.push_back({index, nullptr});
    }
  }
  close();
  PhaseClock::mark(Phase::Order);
  make_segments(std::move(segments));
  PhaseClock::mark(Phase::Key);
}

void BackwardPass::make_segments(std::vector<std::vector<uint32_t>>&& segments) {
  auto incoming = find_incoming(segments);
  size_t next = 0;
  for (auto& step : steps_) {
    if (step.item != kNobody) continue;
    step.segment = std::make_unique<Segment>(graph_, segments[next], std::move(incoming[next]));
    ++next;
  }
}

/// The slots of each segment that get gradients from elsewhere.
std::vector<std::vector<Slot>> BackwardPass::find_incoming(
    const std::vector<std::vector<uint32_t>>& segments) const {
  std::vector<bool> from_elsewhere(graph_.slots);
  const auto send = [&](uint32_t step, size_t first, size_t count) {
    for (size_t i = first; i < first + count; ++i) {
      const auto& link = graph_.links[i];
      if (link.item != kNobody && (step == kNobody || graph_.items[link.item].step != step))
        from_elsewhere[link.slot] = true;
    }
  };
  send(kNobody, 0, root_->num_outputs());
  for (uint32_t i = 0; i < graph_.items.size(); ++i)
    if (graph_.items[i].needed)
      send(graph_.items[i].step, graph_.items[i].first_link, graph_.node(i).num_outputs());
  std::vector<std::vector<Slot>> incoming(segments.size());
  for (size_t s = 0; s < segments.size(); ++s)
    for (const auto item : segments[s])
      for (uint32_t i = 0; i < graph_.node(item).num_inputs(); ++i)
        if (const auto slot = graph_.items[item].first_slot + i; from_elsewhere[slot])
          incoming[s].push_back({slot, graph_.items[item].place, i});
  return incoming;
}

void BackwardPass::add(uint32_t slot, at::Tensor&& gradient) {
  if (!gradient.defined()) return;
  auto& sum = slots_[slot];
  sum = sum.defined() ? sum + gradient : std::move(gradient);
}

void BackwardPass::distribute(uint32_t first_link, variable_list&& gradients) {
  for (size_t i = 0; i < gradients.size(); ++i)
    if (const auto& link = graph_.links[first_link + i]; link.item != kNobody)
      add(link.slot, std::move(gradients[i]));
}

variable_list BackwardPass::take(uint32_t item) {
  const auto first = slots_.begin() + graph_.items[item].first_slot;
  const auto end = first + graph_.node(item).num_inputs();
  variable_list taken(std::make_move_iterator(first), std::make_move_iterator(end));
  return taken;
}

void BackwardPass::capture(const PassGraph::Item& item, const variable_list& incoming) {
  if (item.captures == nullptr) return;
  for (const auto& capture : *item.captures) {
    auto& gradient = asked_for_[static_cast<size_t>(capture.output_idx_)];
    gradient = incoming[static_cast<size_t>(capture.input_idx_)];
    for (const auto& hook : capture.DO_NOT_USE_DEPRECATED_get_capture_hooks()) gradient = (*hook)(gradient);
  }
}

/// What the engine does with one node.
void BackwardPass::run_item(uint32_t index) {
  const auto& item = graph_.items[index];
  auto& node = **item.node;
  auto incoming = take(index);
  const auto call_tensor_hooks = [&] {
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

void BackwardPass::run_segment(Segment& segment, const RunSegment& run) {
  variable_list gradients;
  for (const auto& slot : segment.incoming()) gradients.push_back(slots_[slot.slot]);
  const auto let_go = [&] {
    for (const auto& slot : segment.incoming()) slots_[slot.slot].reset();
    segment.release(task_.keep_graph_);
  };
  if (auto results = run(segment, std::move(gradients), let_go)) {
    for (size_t i = 0; i < results->size(); ++i) add(segment.outgoing()[i], std::move((*results)[i]));
    return;
  }
  for (const auto item : segment.items()) run_item(item);
}

variable_list BackwardPass::run(const RunSegment& run_segment) {
  slots_.resize(graph_.slots);
  distribute(0, (*root_)(variable_list()));
  for (auto& step : steps_) {
    if (step.item != kNobody)
      run_item(step.item);
    else
      this->run_segment(*step.segment, run_segment);
    step.segment.reset();
  }
  PhaseClock::mark(Phase::Give);
  return std::move(asked_for_);
}

}  // namespace antegrad::engine
