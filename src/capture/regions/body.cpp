#include "capture/regions/body.h"

#include <ATen/SequenceNumber.h>
#include <ATen/ops/clone.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/accumulate_grad.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "antegrad/error.h"
#include "aten/autograd_types.h"
#include "aten/convert.h"
#include "capture/histories.h"
#include "ir/ops.h"

namespace antegrad::capture {
namespace {

namespace impl = torch::autograd::impl;
using torch::autograd::Edge;
using torch::autograd::Node;

[[noreturn]] void refuse(const std::string& region, const std::string& fact, const std::string& way_out) {
  throw Error(ErrorCode::UnsupportedOp, "capture:" + region, fact, way_out);
}

/// What a function may change of a tensor without an op that writes to its memory.
struct Look {
  ir::ValueId value;
  bool requires_grad = false;
  bool retains_grad = false;
  const void* hooks = nullptr;
  const void* history = nullptr;
  const void* gradient = nullptr;
  bool operator==(const Look&) const = default;
};

Look look_of(const at::Tensor& tensor) {
  Look look;
  if (auto* fake = as_fake(tensor)) look.value = fake->value();
  if (const auto* meta = impl::get_autograd_meta(tensor)) {
    look.requires_grad = meta->requires_grad_;
    look.retains_grad = meta->retains_grad_;
    look.hooks = meta->cpp_hooks_list_.get();
    look.history = meta->grad_fn_.get();
    look.gradient = meta->grad_.defined() ? meta->grad_.unsafeGetTensorImpl() : nullptr;
  }
  return look;
}

using Looks = std::unordered_map<const c10::TensorImpl*, Look>;

std::vector<at::Tensor> all_tensors(Recorder& recorder) {
  auto all = recorder.fakes().all();
  for (const auto& outsider : recorder.outside().all()) all.push_back(outsider->tensor);
  return all;
}

/// Finds which inputs of a body autograd leads to from its results.
class Reach {
 public:
  Reach(const std::string& region, uint64_t first_sequence)
      : region_(region), first_sequence_(first_sequence) {}

  void add_input(const at::Tensor& tensor) {
    if (!tensor.requires_grad()) return void(++count_);
    const auto edge = impl::gradient_edge(tensor);
    inputs_[{edge.function.get(), edge.input_nr}].push_back(count_++);
    edges_.push_back(edge);
  }

  std::vector<bool> from(const at::Tensor& output) const {
    std::vector<bool> reached(count_);
    if (!output.requires_grad()) return reached;
    std::vector<Edge> todo = {impl::gradient_edge(output)};
    std::unordered_set<const Node*> seen;
    while (!todo.empty()) {
      const auto edge = todo.back();
      todo.pop_back();
      if (!edge.is_valid()) continue;
      if (const auto found = inputs_.find({edge.function.get(), edge.input_nr}); found != inputs_.end()) {
        for (auto input : found->second) reached[input] = true;
        continue;
      }
      if (!seen.insert(edge.function.get()).second || is_own_leaf(*edge.function)) continue;
      check(*edge.function);
      const auto& next = edge.function->next_edges();
      todo.insert(todo.end(), next.begin(), next.end());
    }
    return reached;
  }

 private:
  static bool is_own_leaf(Node& node) {
    const auto* accumulates = dynamic_cast<torch::autograd::AccumulateGrad*>(&node);
    return accumulates != nullptr && as_fake(accumulates->variable) != nullptr;
  }
  void check(Node& node) const {
    if (has_hooks(node))
      refuse(region_, "a tensor inside has a hook, or retains its gradient",
             "Register it on what goes into the region, or on what comes out");
    if (!is_of_op(node) && !aten::is_generated(node))
      refuse(region_, fmt::format("a custom function of autograd ({}) is called inside", node.name()),
             "Call it outside the region");
    if (node.sequence_nr() < first_sequence_)
      refuse(region_, "the gradient of a tensor that was computed outside is taken inside",
             "Take the gradient outside the region, or compute the tensor inside");
  }

  const std::string& region_;
  const uint64_t first_sequence_;
  size_t count_ = 0;
  std::map<std::pair<const Node*, uint32_t>, std::vector<size_t>> inputs_;
  std::vector<Edge> edges_;
};

class BodyRecording {
 public:
  BodyRecording(Recorder& recorder, const BodyCall& call)
      : recorder_(recorder),
        graph_(recorder.graph()),
        call_(call),
        first_value_(static_cast<int32_t>(graph_.values.size())),
        first_sequence_(at::sequence_number::peek()) {}

  Body run() {
    for (const auto& tensor : all_tensors(recorder_)) looks_[tensor.unsafeGetTensorImpl()] = look_of(tensor);
    std::vector<at::Tensor> placeholders;
    for (const auto& like : call_.like) placeholders.push_back(placeholder(like));
    first_node_ = graph_.nodes.size();
    auto outputs = run_function(placeholders);
    check_looks();
    recorder_.host_memory().make_constants(graph_, first_node_);
    recorder_.host_memory().forget(first_node_);
    body_.nodes.assign(std::make_move_iterator(graph_.nodes.begin() + static_cast<ptrdiff_t>(first_node_)),
                       std::make_move_iterator(graph_.nodes.end()));
    graph_.nodes.resize(first_node_);
    drop_unread_aliases();
    for (const auto& node : body_.nodes) take(node);
    body_.nodes.insert(body_.nodes.begin(), constants_.begin(), constants_.end());
    find_tensors();
    Reach reach(call_.region, first_sequence_);
    for (const auto& tensor : placeholders) reach.add_input(tensor);
    for (const auto& tensor : body_.tensors) reach.add_input(tensor);
    for (const auto& output : outputs) body_.reached.push_back(reach.from(output));
    recorder_.cut(first_value_, static_cast<int32_t>(graph_.values.size()));
    return std::move(body_);
  }

 private:
  /// Placeholders that may get gradients want them: whether they do depends on the surroundings.
  at::Tensor placeholder(const at::Tensor& like) {
    auto tensor = recorder_.add_tangent(like);
    if (c10::GradMode::is_enabled() && (like.is_floating_point() || like.is_complex()))
      tensor.requires_grad_(true);
    body_.placeholders.push_back(as_fake(tensor)->value());
    return tensor;
  }

  std::vector<at::Tensor> run_function(const std::vector<at::Tensor>& placeholders) {
    struct Inside {
      explicit Inside(Recorder& r) : recorder(r) { ++recorder.bodies; }
      ~Inside() { --recorder.bodies; }
      Recorder& recorder;
    } const inside(recorder_);
    const bool grad_mode = c10::GradMode::is_enabled();
    std::vector<at::Tensor> outputs;
    try {
      outputs = call_.function(placeholders);
    } catch (...) {
      drop_nodes();
      throw;
    }
    if (c10::GradMode::is_enabled() != grad_mode)
      refuse(call_.region, "it leaves the gradient mode changed", "Put it back before the body returns");
    for (auto& output : outputs) output = own(output);
    return outputs;
  }

  /// A function that catches what a body throws goes on without what the body has computed.
  void drop_nodes() {
    const auto first = graph_.nodes.begin() + static_cast<ptrdiff_t>(first_node_);
    if (!std::all_of(first, graph_.nodes.end(), [](const ir::Node& node) { return node.effects.none(); }))
      return;
    recorder_.host_memory().forget(first_node_);
    graph_.nodes.resize(first_node_);
    recorder_.cut(first_value_, static_cast<int32_t>(graph_.values.size()));
  }

  /// Returns a result as a tensor on memory of its own.
  at::Tensor own(at::Tensor output) {
    if (!output.defined())
      refuse(call_.region, "it returns an undefined tensor", "Return tensors, of zeros if need be");
    auto root = graph_.storage_of(recorder_.value_of(output));
    if (!is_inner(root) || is_placeholder(root) || !returned_.insert(root).second) {
      if (!is_inner(root) && !is_argument(root))
        refuse(call_.region, "it returns a tensor that was made outside and is no argument, or a view of one",
               "Return a clone() of it, or pass it as an argument");
      output = output.clone();
      returned_.insert(graph_.storage_of(recorder_.value_of(output)));
    }
    const auto value = recorder_.value_of(output);
    body_.outputs.push_back(value);
    auto type = graph_.tensor_type(value);
    type.offset = 0;
    body_.types.push_back(std::move(type));
    return output;
  }

  bool is_inner(ir::ValueId value) const {
    return value.index >= first_value_ && recorder_.outside().find(value) == nullptr;
  }
  bool is_placeholder(ir::ValueId value) const {
    return std::find(body_.placeholders.begin(), body_.placeholders.end(), value) != body_.placeholders.end();
  }
  bool is_argument(ir::ValueId root) const {
    return std::any_of(call_.arguments.begin(), call_.arguments.end(), [&](const at::Tensor& argument) {
      return argument.defined() && graph_.storage_of(recorder_.value_of(argument)) == root;
    });
  }

  void check_looks() {
    for (const auto& tensor : all_tensors(recorder_)) {
      const auto before = looks_.find(tensor.unsafeGetTensorImpl());
      if (before == looks_.end() || before->second == look_of(tensor)) continue;
      refuse(call_.region,
             "it writes to a tensor that was made outside, or changes its shape, its .grad, its hooks or "
             "whether it requires a gradient",
             "Return the new value, and write outside the region");
    }
  }

  /// Autograd makes aliases of what it saves, which nothing reads.
  void drop_unread_aliases() {
    std::unordered_set<int32_t> read;
    for (auto value : body_.outputs) read.insert(value.index);
    std::vector<ir::Node> kept;
    for (auto it = body_.nodes.rbegin(); it != body_.nodes.rend(); ++it) {
      if (it->op == "antegrad.alias" && read.count(it->outputs[0].index) == 0) continue;
      ir::for_each_input(*it, [&](ir::ValueId v) { read.insert(v.index); });
      for (auto v : it->effects.writes) read.insert(v.index);
      kept.push_back(std::move(*it));
    }
    body_.nodes.assign(std::make_move_iterator(kept.rbegin()), std::make_move_iterator(kept.rend()));
  }

  void take(const ir::Node& node) {
    for (auto written : node.effects.writes) {
      const auto root = graph_.storage_of(written);
      if (!is_inner(root) || is_placeholder(root))
        refuse(call_.region, fmt::format("{} writes to a tensor that was made outside", node.op),
               "Return the new value, and write outside the region");
    }
    body_.random |= node.effects.random;
    body_.ordered |= node.effects.ordered || ir::raises(node.op) != ir::Raises::Never;
    ir::for_each_input(node, [&](ir::ValueId v) {
      if (is_inner(v) || !read_.insert(v).second) return;
      const auto* outsider = recorder_.outside().find(v);
      if (outsider != nullptr && outsider->wrapped_number)
        add_constant(*outsider);
      else
        body_.reads.push_back(v);
    });
  }

  /// As an input, a number of the host would lose its part in the promotion of dtypes.
  void add_constant(const Outsider& outsider) {
    ir::Node node;
    node.op = "antegrad.constant";
    node.attrs = {{"data", contents_of(outsider.tensor)}, {"wrapped", true}};
    node.outputs = {outsider.value};
    constants_.push_back(std::move(node));
  }

  void find_tensors() {
    std::unordered_map<int32_t, at::Tensor> alive;
    for (const auto& fake : recorder_.fakes().all())
      if (as_fake(fake)->capture_id() == recorder_.id())
        alive.try_emplace(as_fake(fake)->value().index, fake);
    for (auto value : body_.reads) {
      const auto* outsider = recorder_.outside().find(value);
      const auto found = alive.find(value.index);
      if (outsider == nullptr && found == alive.end())
        refuse(call_.region, "it uses a tensor that was made outside and is gone",
               "Keep the tensor until the region is done");
      body_.tensors.push_back(outsider != nullptr ? outsider->tensor : found->second);
    }
  }

  Recorder& recorder_;
  ir::Graph& graph_;
  const BodyCall& call_;
  const int32_t first_value_;
  const uint64_t first_sequence_;
  size_t first_node_ = 0;
  Looks looks_;
  std::set<ir::ValueId> returned_, read_;
  std::vector<ir::Node> constants_;
  Body body_;
};

/// Copies a body into a graph of its own.
class GraphMaker {
 public:
  explicit GraphMaker(const ir::Graph& outer) : outer_(outer) {
    graph_.name = "body";
    graph_.stage = ir::Stage::Traced;
  }

  void add_input(ir::ValueId value, bool is_placeholder) {
    auto type = outer_.tensor_type(value);
    type.offset = 0;
    const auto name = fmt::format("{}{}", is_placeholder ? "x" : "c", graph_.inputs.size());
    here_[value.index] = graph_.add_input(std::move(type), ir::InputRole::UserInput, name);
  }

  void add_node(ir::Node node) {
    ir::for_each_input(node, [&](ir::ValueId& v) { v = here_.at(v.index); });
    for (auto& v : node.effects.writes) v = here_.at(v.index);
    for (auto& output : node.outputs) {
      const auto base = here_.find(outer_.storage_of(output).index);
      const bool is_view = outer_.storage_of(output) != output && base != here_.end();
      const auto value =
          graph_.add_value(outer_.type_of(output), is_view ? graph_.storage_of(base->second) : ir::ValueId());
      here_[output.index] = value;
      output = value;
    }
    if (node.provenance.sequence < 0) plain_.push_back(static_cast<int64_t>(graph_.nodes.size()));
    node.provenance = {};
    graph_.nodes.push_back(std::move(node));
  }

  void add_output(ir::ValueId value) {
    graph_.outputs.push_back({here_.at(value.index), ir::OutputRole::UserOutput, {}, -1});
  }

  BodyGraph take() { return {std::make_shared<const ir::Graph>(std::move(graph_)), std::move(plain_)}; }

 private:
  const ir::Graph& outer_;
  ir::Graph graph_;
  std::vector<int64_t> plain_;
  std::unordered_map<int32_t, ir::ValueId> here_;
};

}  // namespace

Body record_body(Recorder& recorder, const BodyCall& call) {
  recorder.unfollow();
  return BodyRecording(recorder, call).run();
}

BodyGraph graph_of(const Body& body, const std::vector<ir::ValueId>& reads, const ir::Graph& outer) {
  GraphMaker graph(outer);
  for (auto value : body.placeholders) graph.add_input(value, true);
  for (auto value : reads) graph.add_input(value, false);
  for (const auto& node : body.nodes) graph.add_node(node);
  for (auto value : body.outputs) graph.add_output(value);
  return graph.take();
}

}  // namespace antegrad::capture
