#include "compiler/regions/checkpoint.h"

#include <ATen/SequenceNumber.h>
#include <ATen/autocast_mode.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/accumulate_grad.h>
#include <torch/csrc/autograd/saved_variable.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <unordered_set>

#include "antegrad/error.h"
#include "aten/generators.h"
#include "runtime/guards.h"

namespace antegrad::compiler {
namespace {

namespace impl = torch::autograd::impl;
using torch::autograd::Edge;
using torch::autograd::edge_list;
using torch::autograd::Node;
using torch::autograd::variable_list;

/// Where the histories of results leave the body: edges to what was there before it ran.
edge_list edges_out(const Tensors& results, const std::unordered_set<const Node*>& operands, uint64_t first) {
  edge_list out, todo;
  std::unordered_set<const Node*> seen;
  std::vector<std::pair<const Node*, uint32_t>> known;
  for (const auto& result : results)
    if (result.requires_grad()) todo.push_back(impl::gradient_edge(result));
  while (!todo.empty()) {
    const auto edge = todo.back();
    todo.pop_back();
    if (!edge.is_valid() || operands.count(edge.function.get()) > 0) continue;
    const bool is_leaf = dynamic_cast<torch::autograd::AccumulateGrad*>(edge.function.get()) != nullptr;
    if (!is_leaf && edge.function->sequence_nr() < first)
      throw Error(ErrorCode::InvalidArgument, "checkpoint",
                  "the function uses a tensor that was computed outside and is no argument",
                  "Pass it as an argument; only leaves, such as parameters, may be captured");
    if (is_leaf) {
      const std::pair<const Node*, uint32_t> place(edge.function.get(), edge.input_nr);
      if (std::find(known.begin(), known.end(), place) != known.end()) continue;
      known.push_back(place);
      out.push_back(edge);
    } else if (seen.insert(edge.function.get()).second) {
      const auto& next = edge.function->next_edges();
      todo.insert(todo.end(), next.begin(), next.end());
    }
  }
  return out;
}

/// Operands as tensors whose histories end here.
Tensors cut_off(const Tensors& operands, const std::vector<bool>& wanted) {
  Tensors out;
  for (size_t i = 0; i < operands.size(); ++i)
    out.push_back(wanted[i] ? operands[i].detach().requires_grad_() : operands[i]);
  return out;
}

/// The history of an operand while the body runs again. The backward pass through the body ends here; that
/// through this pass goes on to the operand.
struct Boundary final : Node {
  variable_list apply(variable_list&& gradients) override { return std::move(gradients); }
  std::string name() const override { return "AntegradBoundary"; }
};

/// Operands as tensors of their own whose histories lead to the operands once connect() was called.
class Linked {
 public:
  Linked(const Tensors& operands, const std::vector<bool>& wanted) {
    for (size_t i = 0; i < operands.size(); ++i) {
      tensors.push_back(wanted[i] ? operands[i].detach() : operands[i]);
      if (!wanted[i]) continue;
      auto node = std::make_shared<Boundary>();
      edge_list cut;
      node->add_next_edge(impl::gradient_edge(operands[i]));
      std::swap(node->next_edges(), cut);
      impl::set_gradient_edge(tensors[i], {node, node->add_input_metadata(tensors[i])});
      nodes_.emplace_back(std::move(node), std::move(cut));
    }
  }
  void connect() {
    for (auto& [node, edges] : nodes_) std::swap(node->next_edges(), edges);
  }
  Tensors tensors;

 private:
  std::vector<std::pair<std::shared_ptr<Boundary>, edge_list>> nodes_;
};

/// While it lives, autocast is on or off as in a call. It does not use its cache, which may have casts with
/// histories from outside the function, or none any more when that is called again.
class AsInTheCall {
 public:
  explicit AsInTheCall(const runtime::Ambient& ambient)
      : guard_(ambient), cached_(at::autocast::is_autocast_cache_enabled()) {
    at::autocast::set_autocast_cache_enabled(false);
  }
  ~AsInTheCall() { at::autocast::set_autocast_cache_enabled(cached_); }
  AsInTheCall(const AsInTheCall&) = delete;
  AsInTheCall& operator=(const AsInTheCall&) = delete;

 private:
  runtime::AmbientGuard guard_;
  bool cached_;
};

struct CheckpointBackward final : Node {
  RegionBody body;
  std::vector<torch::autograd::SavedVariable> operands;
  std::vector<bool> wanted;  ///< per operand
  edge_list outside;         ///< the edges after those of the operands
  at::Tensor state;
  runtime::Ambient ambient;  ///< of the call: autocast

  variable_list apply(variable_list&& tangents) override {
    const bool create_graph = c10::GradMode::is_enabled();
    Tensors given;
    for (const auto& operand : operands) given.push_back(operand.unpack());
    Linked linked(given, wanted);
    const auto& own = linked.tensors;
    Tensors results;
    {
      const InState in_state(state);
      const c10::AutoGradMode grad_mode(true);
      const AsInTheCall as_in_the_call(ambient);
      results = body(own);
    }
    edge_list from, to;
    variable_list incoming;
    for (size_t i = 0; i < results.size() && i < tangents.size(); ++i) {
      if (!tangents[i].defined() || !results[i].requires_grad()) continue;
      from.push_back(impl::gradient_edge(results[i]));
      incoming.push_back(tangents[i]);
    }
    std::vector<size_t> places;
    for (size_t i = 0; i < own.size(); ++i) {
      if (!wanted[i] || !task_should_compute_output(i)) continue;
      places.push_back(i);
      to.push_back(impl::gradient_edge(own[i]));
    }
    for (size_t k = 0; k < outside.size(); ++k) {
      if (!task_should_compute_output(own.size() + k)) continue;
      places.push_back(own.size() + k);
      to.push_back(outside[k]);
    }
    variable_list gradients(own.size() + outside.size());
    if (from.empty() || to.empty()) return gradients;
    auto found = torch::autograd::Engine::get_default_engine().execute(from, incoming, create_graph,
                                                                       create_graph, false, to);
    if (create_graph) linked.connect();
    for (size_t i = 0; i < places.size(); ++i) gradients[places[i]] = std::move(found[i]);
    return gradients;
  }
  std::string name() const override { return "AntegradCheckpoint"; }
  void release_variables() override {
    for (auto& operand : operands) operand.reset_data();
  }
};

}  // namespace

at::Tensor generator_state() { return aten::state_of(aten::default_generator()); }

InState::InState(const at::Tensor& state) : before_(generator_state()) {
  aten::set_state_of(aten::default_generator(), state);
}
InState::~InState() { aten::set_state_of(aten::default_generator(), before_); }

Tensors run_checkpoint(const RegionBody& body, const Tensors& operands) {
  if (!c10::GradMode::is_enabled()) return body(operands);
  auto node = std::make_shared<CheckpointBackward>();
  std::unordered_set<const Node*> ends;
  edge_list own_edges;  // keeps the nodes alive that `ends` names
  for (const auto& operand : operands)
    node->wanted.push_back(is_differentiable(operand) && operand.requires_grad());
  node->state = generator_state();
  const auto first = at::sequence_number::peek();
  // With histories, to find what else the body uses, and as they will be when it runs again.
  const auto own = cut_off(operands, node->wanted);
  for (size_t i = 0; i < own.size(); ++i)
    if (node->wanted[i]) ends.insert(own_edges.emplace_back(impl::gradient_edge(own[i])).function.get());
  node->ambient = runtime::Ambient::now();
  Tensors results;
  {
    const AsInTheCall as_in_the_call(node->ambient);
    results = body(own);
  }
  node->outside = edges_out(results, ends, first);
  std::vector<bool> needs;
  for (auto& result : results) {
    needs.push_back(result.requires_grad());
    result = result.detach();
  }
  if (std::find(needs.begin(), needs.end(), true) == needs.end()) return results;
  edge_list edges;
  for (size_t i = 0; i < operands.size(); ++i)
    edges.push_back(node->wanted[i] ? impl::gradient_edge(operands[i]) : Edge());
  edges.insert(edges.end(), node->outside.begin(), node->outside.end());
  node->set_next_edges(std::move(edges));
  node->body = body;
  for (const auto& operand : operands) node->operands.emplace_back(operand, false);
  for (size_t i = 0; i < results.size(); ++i) {
    if (needs[i])
      impl::set_gradient_edge(results[i], {node, node->add_input_metadata(results[i])});
    else
      node->add_input_metadata(Node::undefined_input());
  }
  return results;
}

}  // namespace antegrad::compiler
