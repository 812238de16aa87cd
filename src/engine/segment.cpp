#include "engine/segment.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty_strided.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/engine.h>

#include <algorithm>
#include <bit>
#include <string_view>
#include <typeinfo>

#include "antegrad/error.h"
#include "antegrad/options.h"
#include "capture/below_recording.h"
#include "engine/flat_index.h"
#include "engine/node_functions.h"
#include "engine/saved_fields.h"
#include "engine/scalars.h"

namespace antegrad::engine {

namespace {

namespace tda = torch::dynamo::autograd;

constexpr uint32_t kOutside = kNoNode - 1;
constexpr uint32_t kFixedSize = kNoNode;
constexpr int64_t kLargestSize = int64_t{1} << 40;

/// Sums as the engine does, without writing to either tensor.
void add_to(at::Tensor& sum, at::Tensor&& gradient) {
  if (gradient.defined()) sum = sum.defined() ? sum + gradient : std::move(gradient);
}

/// As detach(), without the dispatcher. Neither the history nor the .grad of a leaf matters here.
at::Tensor detached(const at::Tensor& tensor) {
  const auto* impl = tensor.unsafeGetTensorImpl();
  return at::Tensor(impl->shallow_copy_and_detach(impl->version_counter(), false));
}

}  // namespace

Segment::Segment(const PassGraph& graph, Part part)
    : items_(std::move(part.items)),
      incoming_(std::move(part.incoming)),
      asked_for_(std::move(part.asked_for)),
      ends_(std::move(part.ends)),
      collector_(Collector::take()) {
  nodes_.reserve(items_.size());
  for (const auto item : items_) {
    nodes_.push_back(*graph.items[item].node);
    for (const auto& [input, hook] : nodes_.back()->retains_grad_hooks()) {
      const auto nr = static_cast<uint32_t>(input);
      retained_.push_back({graph.items[item].first_slot + nr, graph.items[item].place, nr});
    }
  }
  for (const auto& end : ends_) {
    end_nodes_.push_back(*graph.items[end.item].node);
    end_slots_.push_back(graph.items[end.item].first_slot);
  }
  find_targets(graph);
  try {
    collect(graph);
  } catch (const c10::Error& error) {
    throw CannotBeUnpacked(error.what_without_backtrace());
  } catch (const Error& error) {
    throw CannotBeUnpacked(error.what());
  }
}

Segment::~Segment() = default;

void Segment::find_targets(const PassGraph& graph) {
  FlatIndex<uint32_t> outside;
  first_target_.reserve(nodes_.size());
  targets_.reserve(nodes_.size() * 3 / 2);
  const auto step = graph.items[items_[0]].step;
  for (size_t n = 0; n < nodes_.size(); ++n) {
    first_target_.push_back(static_cast<uint32_t>(targets_.size()));
    const auto first = graph.items[items_[n]].first_link;
    for (uint32_t i = 0; i < nodes_[n]->num_outputs(); ++i) {
      const auto& link = graph.links[first + i];
      if (link.item == kNoNode) {
        targets_.push_back({0, kNoNode});
      } else if (const auto& to = graph.items[link.item]; to.step == step) {
        targets_.push_back({to.place, link.slot - to.first_slot});
      } else {
        const auto [index, added] = outside.number(link.slot);
        if (added) outgoing_.push_back(link.slot);
        targets_.push_back({index, kOutside});
      }
    }
  }
}

namespace {

/// Collects what a node has saved. A number that may change is hidden meanwhile.
void collect_by_libtorch(Collector& collector, std::shared_ptr<Node>& node, at::Scalar* number) {
  if (number == nullptr) return collector.collect(node);
  const auto own = std::exchange(*number, at::Scalar(0.0));
  collector.collect(node);
  *number = own;
}

at::Scalar* number_of(Node& node, NodeKind kind) {
  return kind == NodeKind::Scales ? changing_scalar(node) : nullptr;
}

}  // namespace

/// Makes a tensor an input of the graph, once.
void Segment::keep(at::Tensor tensor, FlatIndex<uintptr_t>& known) {
  const auto [index, added] = tensor.defined()
                                  ? known.number(reinterpret_cast<uintptr_t>(tensor.unsafeGetTensorImpl()))
                                  : FlatIndex<uintptr_t>::Found{kNoNode, false};
  if (added) saved_.push_back(std::move(tensor));
  collector_->collect_number(index);
}

void Segment::collect_node(uint32_t n, NodeKind kind, FlatIndex<uintptr_t>& known) {
  SavedFields fields;
  const bool is_read = kind == NodeKind::Generated && read_fields(*nodes_[n], fields);
  collector_->collect_number(is_read);
  if (is_read) {
    collector_->collect_number(fields.rest);
    for (size_t i = 0; i < fields.count; ++i) keep(std::move(fields.tensors[i]), known);
    return;
  }
  auto* number = number_of(*nodes_[n], kind);
  if (number != nullptr) numbers_.emplace_back(n, as_number(*number));
  const auto& collected = collector_->compiler().tensor_args.inputs;
  auto next = collected.size();
  collect_by_libtorch(*collector_, nodes_[n], number);
  for (; next < collected.size(); ++next) keep(collected[next], known);
}

/// Collects what identifies the segment, and what its nodes have saved.
void Segment::collect(const PassGraph& graph) {
  FlatIndex<uintptr_t> known(nodes_.size());
  for (uint32_t n = 0; n < nodes_.size(); ++n) {
    const auto before = collector_->bytes().size();
    collect_node(n, graph.items[items_[n]].kind, known);
    collector_->collect_number(reinterpret_cast<uint64_t>(&typeid(*nodes_[n])));
    const auto* target = targets_.data() + first_target_[n];
    for (const auto& edge : nodes_[n]->next_edges()) {
      collector_->collect_number(uint64_t{target->input} << 32 | target->index);
      ++target;
      if (edge.is_valid()) collector_->collect(edge);
    }
    collector_->collect_number(static_cast<uint64_t>(collector_->bytes().size() - before));
  }
  collect_sizes();
  for (const auto* slots : {&incoming_, &asked_for_, &retained_}) {
    collector_->collect_number(static_cast<uint64_t>(slots->size()));
    for (const auto& slot : *slots) collector_->collect_number(uint64_t{slot.place} << 32 | slot.input);
  }
  collect_hooks();
}

/// Collects hooks: of nodes by their place, then of ends by the gradient on which they are called.
void Segment::collect_hooks() {
  std::string text;
  const auto add = [&](uint64_t who, Node& node) {
    text.clear();
    append_hooks(node, text);
    if (text.empty()) return;
    collector_->collect_number(who);
    collector_->collect_number(static_cast<uint64_t>(text.size()));
    for (const char byte : text) collector_->collect_number(static_cast<uint8_t>(byte));
  };
  for (size_t n = 0; n < nodes_.size(); ++n) add(n, *nodes_[n]);
  for (size_t n = 0; n < ends_.size(); ++n) {
    const auto out = std::find(outgoing_.begin(), outgoing_.end(), end_slots_[n]) - outgoing_.begin();
    add(uint64_t{1} << 63 | uint64_t{ends_[n].turn} << 32 | static_cast<uint64_t>(out), *end_nodes_[n]);
  }
}

/// Collects everything through LibTorch, which is what its nodes can be traced with.
Collector::Ptr Segment::collect_for_tracing() {
  const capture::BelowRecording below;  // unpacking a result of an op calls an op
  auto all = Collector::take();
  for (auto& node : nodes_) {
    collect_by_libtorch(*all, node, number_of(*node, kind_of(*node)));
    for (const auto& edge : node->next_edges())
      if (edge.is_valid()) all->collect(edge);
  }
  if (all->compiler().tensor_args.inputs.size() != saved_.size() ||
      all->compiler().all_size_inputs.size() != collector_->compiler().all_size_inputs.size())
    throw Error(ErrorCode::Internal, "compiled autograd", "nodes have saved something else than was read");
  return all;
}

/// Collects sizes, and integers of custom functions. Values that cannot be a symbol (0, 1, ends of slices)
/// are part of the structure.
void Segment::collect_sizes() {
  FlatIndex<int64_t> known;
  const auto& compiler = collector_->compiler();
  size_uses_.reserve(compiler.all_size_inputs.size());
  const auto collect = [&](int64_t size) {
    const bool may_change = size >= 2 && size < kLargestSize;
    const auto [index, added] =
        may_change ? known.number(size) : FlatIndex<int64_t>::Found{kFixedSize, false};
    size_uses_.push_back(index);
    collector_->collect_number(index);
    if (!may_change) collector_->collect_number(size);
    if (added) sizes_.push_back(size);
  };
  for (const auto& size : compiler.all_size_inputs) collect(size.value);
  for (const auto& lifted : compiler.lifted_ivalue_args.args) {
    collector_->collect_number(lifted.actual_ptr->isInt());
    if (lifted.actual_ptr->isInt()) collect(lifted.actual_ptr->toInt());
  }
}

Leaves Segment::leaves(variable_list gradients) const {
  Leaves out;
  out.tensors.reserve(gradients.size() + saved_.size() + numbers_.size() + sizes_.size());
  for (auto& gradient : gradients) out.tensors.push_back(std::move(gradient));
  for (const auto& tensor : saved_) out.tensors.push_back(tensor.requires_grad() ? detached(tensor) : tensor);
  for (const auto& [node, number] : numbers_) out.tensors.push_back(number);
  for (auto size : sizes_) out.tensors.push_back(at::empty_strided({size}, {0}));
  for (const auto& lifted : collector_->compiler().lifted_ivalue_args.args)
    if (lifted.actual_ptr->isDouble())
      out.key.push_back(std::bit_cast<int64_t>(lifted.actual_ptr->toDouble()));
  return out;
}

/// While it lives, stand-ins replace saved tensors.
class Segment::StandIns {
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

void Segment::distribute(size_t from, variable_list&& gradients, std::vector<variable_list>& inside,
                         variable_list& outside) const {
  for (size_t i = 0; i < std::min<size_t>(gradients.size(), nodes_[from]->num_outputs()); ++i) {
    const auto& target = targets_[first_target_[from] + i];
    if (gradients[i].defined() && gradients[i].layout() != at::kStrided)
      throw Error(ErrorCode::UnsupportedTensor, "compiled autograd",
                  fmt::format("{} returns a sparse gradient", nodes_[from]->name()));
    if (target.input == kNoNode) continue;
    add_to(target.input == kOutside ? outside[target.index] : inside[target.index][target.input],
           std::move(gradients[i]));
  }
}

std::vector<Node*> Segment::hooked() const {
  std::vector<Node*> out;
  for (const auto& node : nodes_) out.push_back(node.get());
  for (const auto& node : end_nodes_) out.push_back(node.get());
  return out;
}

std::string Segment::name_of(size_t n) const {
  const auto& node = *nodes_[n];
  return kind_of(node) == NodeKind::Compiled ? fmt::format("aot{}", n) : fmt::format("{}_{}", node.name(), n);
}

/// Traces a node as the engine runs it, hooks included. Puts gradients that are asked for or retained into
/// `seen`.
variable_list Segment::trace_node(size_t n, variable_list incoming, const at::Tensor& number,
                                  Collector& collector, tda::TraceState& state, variable_list& seen) {
  const auto name = name_of(n);
  HookTracer hooks(*nodes_[n], name, failed_hook_);
  const auto see = [&](const std::vector<Slot>& slots, size_t first) {
    for (size_t i = 0; i < slots.size(); ++i)
      if (slots[i].place == n) seen[first + i] = incoming[slots[i].input];
  };
  see(asked_for_, 0);
  hooks.tensor_hooks(incoming);
  see(retained_, asked_for_.size());
  hooks.pre_hooks(incoming);
  auto gradients = apply_node(n, incoming, number, collector, state);
  hooks.post_hooks(gradients, incoming);
  return gradients;
}

/// Traces the hooks of an end on its gradient, which is complete by now.
void Segment::trace_end(size_t n, variable_list& outside) {
  auto& node = *end_nodes_[n];
  const auto full_name = node.name();
  const auto name = fmt::format("{}_{}", full_name.substr(full_name.rfind(':') + 1), nodes_.size() + n);
  for (size_t i = 0; i < outgoing_.size(); ++i) {
    if (outgoing_[i] != end_slots_[n]) continue;
    variable_list gradients = {std::move(outside[i])};
    HookTracer(node, name, failed_hook_).tensor_hooks(gradients);
    outside[i] = std::move(gradients[0]);
  }
}

variable_list Segment::apply_node(size_t n, const variable_list& incoming, const at::Tensor& number,
                                  Collector& collector, tda::TraceState& state) {
  auto& node = *nodes_[n];
  const Scope scope(name_of(n));
  collector.call().node = nodes_[n];
  tda::SwapSavedVariables swap(collector.compiler(), state, nullptr, collector.call());
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
    put_back(swap);
    throw;
  }
}

variable_list Segment::trace(const std::vector<at::Tensor>& stand_ins) {
  const auto collector = collect_for_tracing();
  auto& compiler = collector->compiler();
  const StandIns saved(compiler.tensor_args, stand_ins.data() + incoming_.size());
  const auto* first_size = stand_ins.data() + stand_ins.size() - sizes_.size();
  auto use = size_uses_.begin();
  const auto next_size = [&](int64_t own) {
    const auto which = *use++;
    return which == kFixedSize ? own : first_size[which].size(0);
  };
  std::vector<std::optional<c10::SymInt>> sizes;
  for (const auto& size : compiler.all_size_inputs) sizes.emplace_back(next_size(size.value));
  compiler.lifted_ivalue_args.next = 0;
  for (auto& lifted : compiler.lifted_ivalue_args.args) {
    const auto& own = *lifted.actual_ptr;
    lifted.proxy = own.isInt() ? c10::IValue(next_size(own.toInt())) : own;
  }
  tda::TraceState state(std::move(sizes), 0);
  std::vector<variable_list> inside;
  for (const auto& node : nodes_) inside.emplace_back(node->num_inputs());
  failed_hook_ = {};
  size_t end = 0;
  variable_list outside(outgoing_.size()), seen(asked_for_.size() + retained_.size());
  for (size_t i = 0; i < incoming_.size(); ++i)
    add_to(inside[incoming_[i].place][incoming_[i].input], at::Tensor(stand_ins[i]));
  auto number = numbers_.begin();
  const auto* number_stand_in = stand_ins.data() + incoming_.size() + saved_.size();
  for (size_t n = 0; n < nodes_.size(); ++n) {
    const bool has_number = number != numbers_.end() && number->first == n;
    auto gradients = trace_node(n, std::move(inside[n]), has_number ? *number_stand_in++ : at::Tensor(),
                                *collector, state, seen);
    if (has_number) ++number;
    distribute(n, std::move(gradients), inside, outside);
    for (; end < ends_.size() && ends_[end].turn == n + 1; ++end) trace_end(end, outside);
  }
  outside.insert(outside.end(), seen.begin(), seen.end());
  return outside;
}

void Segment::release(bool keep_graph) {
  if (!keep_graph)
    for (const auto& node : nodes_) {
      node->will_release_variables();
      node->release_variables();
    }
  saved_.clear();
  collector_.reset();
}

}  // namespace antegrad::engine
