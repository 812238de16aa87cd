#include "engine/backward_pass.h"

#include <ATen/TensorOperators.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/functions/accumulate_grad.h>
#include <torch/csrc/autograd/functions/tensor.h>

#include <queue>
#include <set>
#include <string_view>
#include <typeinfo>

#include "antegrad/error.h"
#include "engine/node_functions.h"
#include "runtime/node.h"

namespace antegrad::engine {
namespace {

using torch::autograd::AccumulateGrad;

/// Anything that users have put between nodes.
bool has_hooks(Node& node) {
  return !node.tensor_pre_hooks().empty() || !node.retains_grad_hooks().empty() ||
         !node.pre_hooks().empty() || !node.post_hooks().empty() ||
         node.tensor_post_acc_grad_hooks() != nullptr;
}

/// The nodes that LibTorch generates for its ops are in a namespace of their own.
bool is_generated(const Node& node) {
  return std::string_view(typeid(node).name()).starts_with("N5torch8autograd9generated");
}

/// Those, writes into views, and what antegrad or the user has made such that it can be. All else that users
/// define runs as it is.
bool can_be_traced(Node& node) {
  if (has_hooks(node)) return false;
  if (is_generated(node) || dynamic_cast<torch::autograd::CopySlices*>(&node) != nullptr) return true;
  if (const auto* compiled = dynamic_cast<const runtime::CompiledBackward*>(&node))
    return compiled->can_be_recorded();
  return is_traceable_function(node);
}

/// As the engine's queue has them: what was made last runs first.
struct ByAge {
  bool operator()(const std::shared_ptr<Node>& a, const std::shared_ptr<Node>& b) const {
    return a->sequence_nr() < b->sequence_nr();
  }
};

[[noreturn]] void refuse(const Node& node, const char* why) {
  throw Error(ErrorCode::UnsupportedOp, "compiled autograd", fmt::format("{} {}", node.name(), why));
}

void check_device(const Node& node) {
  for (uint32_t i = 0; i < node.num_inputs(); ++i) {
    const auto& metadata = node.input_metadata(i);
    if (metadata.device().is_cpu() && !metadata.is_nested_tensor() && metadata.layout() == at::kStrided)
      continue;
    refuse(node, "takes a gradient that is not a plain tensor on the CPU");
  }
}

}  // namespace

BackwardPass::BackwardPass(std::shared_ptr<Node> root, const torch::autograd::GraphTask& task, size_t outputs)
    : root_(std::move(root)), task_(task), asked_for_(outputs) {
  auto dependencies = task.dependencies_;
  std::priority_queue<std::shared_ptr<Node>, std::vector<std::shared_ptr<Node>>, ByAge> ready;
  const auto let_go = [&](const Node& node) {
    for (const auto& edge : node.next_edges()) {
      if (!edge.is_valid() || !should_execute(edge.function.get())) continue;
      const auto waits = dependencies.find(edge.function.get());
      if (waits == dependencies.end()) refuse(*edge.function, "is not among the nodes of its own graph");
      if (--waits->second == 0) ready.push(edge.function);
    }
  };
  std::vector<std::shared_ptr<Node>> order;
  let_go(*root_);
  while (!ready.empty()) {
    order.push_back(ready.top());
    ready.pop();
    check_device(*order.back());
    if (is_needed(order.back().get())) let_go(*order.back());
  }
  plan(order);
}

void BackwardPass::plan(const std::vector<std::shared_ptr<Node>>& order) {
  nodes_ = order.size();
  std::vector<std::shared_ptr<Node>> traced, after;
  std::set<std::pair<const Node*, uint32_t>> from_elsewhere;  // slots that gradients were sent to by then
  const auto send = [&](const Node& node) {
    for (const auto& edge : node.next_edges())
      if (edge.is_valid()) from_elsewhere.insert({edge.function.get(), edge.input_nr});
  };
  const auto close = [&] {
    if (traced.size() == 1 && is_compiled(*traced[0])) {  // has code already, or makes its own
      send(*traced[0]);
      steps_.push_back({std::move(traced[0]), nullptr});
    } else if (!traced.empty()) {
      std::vector<Slot> incoming;
      for (const auto& node : traced)
        for (uint32_t i = 0; i < node->num_inputs(); ++i)
          if (from_elsewhere.count({node.get(), i}) != 0) incoming.push_back({node, i});
      for (const auto& node : traced) send(*node);
      steps_.push_back(
          {nullptr, std::make_unique<Segment>(std::move(traced), std::move(incoming),
                                              [this](const Node* node) { return should_execute(node); })});
    }
    for (auto& node : after) steps_.push_back({std::move(node), nullptr});
    traced.clear();
    after.clear();
  };
  send(*root_);
  for (const auto& node : order) {
    const bool ends = !is_needed(node.get()) || dynamic_cast<AccumulateGrad*>(node.get()) != nullptr;
    const bool asked_for = !task_.exec_info_.empty() && task_.exec_info_.at(node.get()).captures_ != nullptr;
    if (ends) {
      after.push_back(node);
    } else if (can_be_traced(*node) && !asked_for) {
      traced.push_back(node);
    } else {
      close();
      steps_.push_back({node, nullptr});
      send(*node);
    }
  }
  close();
}

bool BackwardPass::should_execute(const Node* node) const {
  if (task_.exec_info_.empty()) return true;
  const auto found = task_.exec_info_.find(const_cast<Node*>(node));
  return found != task_.exec_info_.end() && found->second.should_execute();
}

bool BackwardPass::is_needed(const Node* node) const {
  return task_.exec_info_.empty() || task_.exec_info_.at(const_cast<Node*>(node)).needed_;
}

void BackwardPass::add(const Slot& slot, at::Tensor&& gradient) {
  if (!gradient.defined()) return;
  auto& buffer = buffers_[slot.node.get()];
  buffer.resize(slot.node->num_inputs());
  auto& sum = buffer[slot.input];
  sum = sum.defined() ? sum + gradient : std::move(gradient);
}

void BackwardPass::distribute(const Node& node, variable_list&& gradients) {
  for (uint32_t i = 0; i < std::min<size_t>(node.num_outputs(), gradients.size()); ++i) {
    const auto& edge = node.next_edge(i);
    if (edge.is_valid() && should_execute(edge.function.get()))
      add({edge.function, edge.input_nr}, std::move(gradients[i]));
  }
}

variable_list BackwardPass::take(const Node& node) {
  auto buffer = std::move(buffers_[&node]);
  buffers_.erase(&node);
  buffer.resize(node.num_inputs());
  return buffer;
}

void BackwardPass::capture(const Node* node, const variable_list& incoming) {
  if (task_.exec_info_.empty()) return;
  const auto& captures = task_.exec_info_.at(const_cast<Node*>(node)).captures_;
  if (captures == nullptr) return;
  for (const auto& capture : *captures) {
    auto& gradient = asked_for_[static_cast<size_t>(capture.output_idx_)];
    gradient = incoming[static_cast<size_t>(capture.input_idx_)];
    for (const auto& hook : capture.DO_NOT_USE_DEPRECATED_get_capture_hooks()) gradient = (*hook)(gradient);
  }
}

/// What the engine does with one node.
void BackwardPass::run_node(const std::shared_ptr<Node>& node) {
  auto incoming = take(*node);
  const auto call_tensor_hooks = [&] {
    for (const auto& hook : node->tensor_pre_hooks()) incoming = (*hook)(incoming);
    for (const auto& [input, hook] : node->retains_grad_hooks()) incoming = (*hook)(incoming);
  };
  const bool needed = is_needed(node.get());
  if (!needed) call_tensor_hooks();
  capture(node.get(), incoming);
  if (!needed) return;
  call_tensor_hooks();
  for (const auto& hook : node->pre_hooks()) incoming = (*hook)(incoming);
  if (!task_.keep_graph_) node->will_release_variables();
  const bool has_post_hooks = !node->post_hooks().empty();
  auto copy = has_post_hooks ? incoming : variable_list();
  auto gradients = (*node)(std::move(incoming));
  torch::autograd::validate_outputs(node->next_edges(), gradients, [&](const std::string& text) {
    return fmt::format("Function {} returned an {}", node->name(), text);
  });
  for (const auto& hook : node->post_hooks()) gradients = (*hook)(gradients, copy);
  if (!task_.keep_graph_) node->release_variables();
  distribute(*node, std::move(gradients));
}

void BackwardPass::run_segment(Segment& segment, const RunSegment& run) {
  variable_list gradients;
  for (const auto& slot : segment.incoming()) {
    const auto waiting = buffers_.find(slot.node.get());
    gradients.push_back(waiting == buffers_.end() ? at::Tensor() : waiting->second[slot.input]);
  }
  const auto let_go = [&] {
    for (const auto& node : segment.nodes()) buffers_.erase(node.get());
    segment.release(task_.keep_graph_);
  };
  if (auto results = run(segment, std::move(gradients), let_go)) {
    for (size_t i = 0; i < results->size(); ++i) add(segment.outgoing()[i], std::move((*results)[i]));
    return;
  }
  for (const auto& node : segment.nodes()) run_node(node);
}

variable_list BackwardPass::run(const RunSegment& run_segment) {
  distribute(*root_, (*root_)(variable_list()));
  for (auto& step : steps_) {
    if (step.node != nullptr)
      run_node(step.node);
    else
      this->run_segment(*step.segment, run_segment);
    step = {};
  }
  return std::move(asked_for_);
}

}  // namespace antegrad::engine
