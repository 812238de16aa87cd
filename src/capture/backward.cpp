#include "capture/backward.h"

#include <ATen/ops/zeros.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <new>
#include <numeric>
#include <string_view>
#include <utility>

#include "antegrad/error.h"
#include "aten/autograd_types.h"
#include "capture/engine_passes.h"
#include "ir/text.h"

namespace antegrad::capture {
namespace {

/// Returns whether memory ran out. That says nothing about the function, so the error is not kept for the
/// caller of backward(). LibTorch's allocator throws its general type.
bool is_out_of_memory(const std::exception& error) {
  return dynamic_cast<const std::bad_alloc*>(&error) != nullptr ||
         dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr ||
         std::string_view(text_of(error)).find("can't allocate memory") != std::string_view::npos;
}

/// Runs the engine from these roots to these targets, given by number. Returns null, or what LibTorch threw;
/// then nothing is recorded.
std::exception_ptr try_backward(Recorder& recorder, const Backward& backward, const std::vector<size_t>& from,
                                const std::vector<size_t>& to, std::vector<at::Tensor>& gradients) {
  const auto nodes = recorder.graph().nodes.size();
  std::vector<GradRoot> roots;
  std::vector<at::Tensor> tangents;
  std::vector<GradTarget> targets;
  for (auto k : from) {
    roots.push_back(backward.roots[k]);
    tangents.push_back(backward.tangents[k]);
  }
  for (auto t : to) targets.push_back(backward.targets[t]);
  try {
    gradients = run_backward(recorder, roots, tangents, targets, false);
    return nullptr;
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    if (is_data_access(error)) throw;
    recorder.graph().nodes.resize(nodes);
    clear_engine();
    if (is_out_of_memory(error)) throw;
    return std::current_exception();
  }
}

std::vector<size_t> numbers_to(size_t count) {
  std::vector<size_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), size_t{0});
  return numbers;
}

/// Returns the targets that autograd reaches from a root without throwing; notes in `backward` where it
/// throws.
std::vector<size_t> find_working_targets(Recorder& recorder, Backward& backward, size_t root) {
  std::vector<at::Tensor> whole;
  const auto before = recorder.graph().nodes.size();
  backward.errors[root] =
      try_backward(recorder, backward, {root}, numbers_to(backward.targets.size()), whole);
  recorder.graph().nodes.resize(before);
  std::vector<size_t> fine;
  for (size_t t = 0; t < backward.targets.size(); ++t) {
    if (!backward.reached_by[t][root]) continue;
    std::vector<at::Tensor> ignored;
    const auto nodes = recorder.graph().nodes.size();
    const auto error = try_backward(recorder, backward, {root}, {t}, ignored);
    recorder.graph().nodes.resize(nodes);
    backward.fails_for[t][root] = error != nullptr;
    if (!error) fine.push_back(t);
  }
  return fine;
}

/// Records the gradient of each target, as far as autograd can compute it.
std::vector<at::Tensor> record_gradients(Recorder& recorder, Backward& backward) {
  const auto roots = numbers_to(backward.roots.size());
  std::vector<at::Tensor> gradients(backward.targets.size());
  if (!try_backward(recorder, backward, roots, numbers_to(backward.targets.size()), gradients))
    return gradients;
  gradients.assign(backward.targets.size(), {});
  for (auto k : roots) {
    const auto targets = find_working_targets(recorder, backward, k);
    std::vector<at::Tensor> own;
    if (targets.empty() || try_backward(recorder, backward, {k}, targets, own)) continue;
    for (size_t i = 0; i < targets.size(); ++i) {
      auto& sum = gradients[targets[i]];
      if (own[i].defined()) sum = sum.defined() ? sum + own[i] : own[i];
    }
  }
  return gradients;
}

/// Returns, per value, the tangents that it is computed from, as bits.
ir::PerValue<uint64_t> find_tangents_behind(const ir::Graph& graph, const std::vector<at::Tensor>& tangents,
                                            size_t first_node) {
  ir::PerValue<uint64_t> behind(graph.values.size());
  for (size_t k = 0; k < tangents.size(); ++k)
    behind[as_fake(tangents[k])->value()] |= uint64_t{1} << std::min<size_t>(k, 63);
  for (auto n = first_node; n < graph.nodes.size(); ++n) {
    uint64_t bits = 0;
    ir::for_each_input(graph.nodes[n],
                       [&](ir::ValueId v) { bits |= behind[v] | behind[graph.storage_of(v)]; });
    for (auto v : graph.nodes[n].outputs) behind[v] |= bits;
    for (auto v : graph.nodes[n].effects.writes) behind[graph.storage_of(v)] |= bits;
  }
  return behind;
}

/// Returns whether the backward pass writes to tensors that it has not made: running it again would do so
/// again.
bool writes_to_others(Recorder& recorder, const Backward& backward, size_t first_node) {
  const auto& graph = recorder.graph();
  return std::any_of(graph.nodes.begin() + static_cast<int64_t>(first_node), graph.nodes.end(),
                     [&](const ir::Node& node) {
                       return std::ranges::any_of(node.effects.writes, [&](ir::ValueId v) {
                         const auto storage = graph.storage_of(v);
                         return std::cmp_less(storage.index, backward.forward_values) ||
                                recorder.outside().find(storage) != nullptr;
                       });
                     });
}

/// Adds zeros to gradients that eager gives for tangents which they are not computed from: a custom function
/// of several results is called with zeros for those without a gradient. The zeros carry the tangents that
/// lead to them, so that a pass in which other tangents are undefined keeps them.
void add_filled_in_zeros(Recorder& recorder, Backward& backward, const Reached& reached, size_t first_node,
                         std::vector<at::Tensor>& gradients) {
  const auto fills = [](const torch::autograd::Node& node) {
    return node.num_inputs() > 1 && aten::is_custom_function(node);
  };
  auto& graph = recorder.graph();
  if (backward.roots.size() < 2 || !reached.any(fills) || writes_to_others(recorder, backward, first_node))
    return;
  std::vector<ir::ValueId> values;
  for (const auto& gradient : gradients)
    values.push_back(gradient.defined() ? recorder.value_of(gradient) : ir::ValueId{});
  const auto behind = find_tangents_behind(graph, backward.tangents, first_node);
  std::vector<uint64_t> missing(gradients.size());
  for (size_t k = 0; k < backward.roots.size(); ++k) {
    std::vector<at::Tensor> own;
    const auto nodes = graph.nodes.size();
    const auto error = try_backward(recorder, backward, {k}, numbers_to(gradients.size()), own);
    graph.nodes.resize(nodes);
    if (error) continue;
    const auto bit = uint64_t{1} << std::min<size_t>(k, 63);
    for (size_t t = 0; t < gradients.size(); ++t)
      if (own[t].defined() && values[t].valid() && (behind[values[t]] & bit) == 0) missing[t] |= bit;
  }
  for (size_t t = 0; t < gradients.size(); ++t) {
    if (missing[t] == 0) continue;
    const auto zeros = at::zeros(gradients[t].sizes(), gradients[t].options());
    graph.nodes.back().provenance.roots = missing[t];
    gradients[t] = gradients[t] + zeros;
  }
}

bool is_argument(const at::Tensor& tensor, const Arguments& arguments) {
  return std::any_of(arguments.own.begin(), arguments.own.end(),
                     [&](const at::Tensor& own) { return own.is_same(tensor); });
}

/// Throws for a view that requires a gradient because of its base, a leaf that the caller would not get.
void check_views_of_leaves(const std::vector<at::Tensor>& outputs, const Arguments& arguments) {
  for (size_t k = 0; k < outputs.size(); ++k) {
    if (!outputs[k].defined()) continue;
    const auto* view = torch::autograd::impl::get_view_autograd_meta(outputs[k]);
    if (view == nullptr || !view->has_bw_view()) continue;
    const auto& base = view->get_backward_view().base_;
    const auto* meta = torch::autograd::impl::get_autograd_meta(base);
    if (meta != nullptr && meta->requires_grad_ && as_fake(base) != nullptr && !is_argument(base, arguments))
      throw Error(ErrorCode::NeedsGrad, "capture",
                  fmt::format("output {} is a view of a leaf made inside the function", k),
                  "Make the leaf outside and pass it, or set Options::unsupported to Break");
  }
}

/// Throws for a leaf that the function makes and returns if gradients reach it: they would have to leave
/// through an output.
void check_returned_leaves(const std::vector<at::Tensor>& outputs, const Arguments& arguments,
                           const std::vector<GradRoot>& roots, const Reached& reached) {
  for (size_t k = 0; k < outputs.size(); ++k) {
    const auto* meta = outputs[k].defined() ? torch::autograd::impl::get_autograd_meta(outputs[k]) : nullptr;
    if (meta == nullptr || !meta->requires_grad_ || as_fake(outputs[k]) == nullptr) continue;
    const auto accumulator = torch::autograd::impl::try_get_grad_accumulator(outputs[k]);
    if (is_argument(outputs[k], arguments) || !accumulator) continue;
    for (size_t r = 0; r < roots.size(); ++r)
      if (reached.from(r, accumulator.get()))
        throw Error(
            ErrorCode::NeedsGrad, "capture",
            fmt::format(
                "output {} is a leaf made inside the function, and gradients of other outputs reach it", k),
            "Make the leaf outside and pass it, or set Options::unsupported to Break");
  }
}

/// Throws for a result that retains its gradient if other results depend on it: their part of its gradient
/// would not pass through it.
void check_retaining_outputs(const std::vector<at::Tensor>& outputs, const Arguments& arguments,
                             const std::vector<GradRoot>& roots, const Reached& reached) {
  for (size_t k = 0; k < outputs.size(); ++k) {
    if (!outputs[k].defined() || as_fake(outputs[k]) == nullptr || !outputs[k].retains_grad()) continue;
    const auto* node = torch::autograd::impl::gradient_edge(outputs[k]).function.get();
    for (size_t r = 0; r < roots.size(); ++r)
      if (!roots[r].tensor.is_same(outputs[k]) && reached.from(r, node) &&
          !is_argument(outputs[k], arguments))
        throw Error(
            ErrorCode::UnsupportedOp, "capture:retain_grad",
            fmt::format("the function calls retain_grad() on output {}, and computes other results "
                        "from it",
                        k),
            "Return a clone() of it and call retain_grad() on the result, or set Options::unsupported "
            "to Break");
  }
}

}  // namespace

std::string fingerprint(const ir::Graph& graph, size_t nodes) {
  std::string text;
  for (size_t i = 0; i < nodes; ++i) {
    auto node = graph.nodes[i];
    ir::for_each_input(node, [](ir::ValueId& v) { v = ir::ValueId{0}; });
    const auto outputs = std::move(node.outputs);
    node.outputs.clear();
    node.returns.clear();
    node.effects.writes.clear();
    node.provenance = {};
    text += ir::print(ir::Graph{}, node);
    for (auto v : outputs) {
      auto type = graph.type_of(v);
      if (auto* tensor = type.tensor()) tensor->offset = 0;  // depends on where the inputs begin
      text += " " + ir::print(type);
    }
    text += "\n";
  }
  return text;
}

Backward find_backward(const Arguments& arguments, const std::vector<at::Tensor>& outputs, bool effects,
                       Recorder& recorder) {
  Backward backward;
  check_views_of_leaves(outputs, arguments);
  backward.roots = find_roots(recorder, arguments.own, arguments.edges, outputs);
  if (!effects) std::erase_if(backward.roots, [](const auto& r) { return r.input >= 0 || r.outsider >= 0; });
  if (!backward.roots.empty()) {
    backward.targets = find_targets(recorder, arguments.own, arguments.edges);
    backward.histories = history_shape_of(backward.roots, backward.targets);
  }
  backward.forward_values = recorder.graph().values.size();
  return backward;
}

Backward record_backward(const Arguments& arguments, const std::vector<at::Tensor>& outputs, bool effects,
                         Recorder& recorder) {
  const auto forward_nodes = recorder.graph().nodes.size();
  auto backward = find_backward(arguments, outputs, effects, recorder);
  if (backward.roots.empty()) return backward;
  backward.fingerprint = fingerprint(recorder.graph(), forward_nodes);
  for (const auto& root : backward.roots) backward.tangents.push_back(recorder.add_tangent(root.tensor));
  const Reached reached(backward.roots);
  check_returned_leaves(outputs, arguments, backward.roots, reached);
  check_retaining_outputs(outputs, arguments, backward.roots, reached);
  for (const auto& target : backward.targets) {
    auto& by = backward.reached_by.emplace_back();
    for (size_t k = 0; k < backward.roots.size(); ++k)
      by.push_back(reached.from(k, target.edge.function.get()));
  }
  backward.fails_for.assign(backward.targets.size(), std::vector<bool>(backward.roots.size()));
  recorder.backward = &reached;
  backward.errors.resize(backward.roots.size());
  auto gradients = record_gradients(recorder, backward);
  add_filled_in_zeros(recorder, backward, reached, forward_nodes, gradients);
  for (const auto& gradient : gradients)
    backward.gradients.push_back(gradient.defined() ? recorder.value_of(gradient) : ir::ValueId{});
  recorder.backward = nullptr;
  return backward;
}

}  // namespace antegrad::capture
