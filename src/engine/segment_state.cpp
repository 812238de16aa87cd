#include "engine/segment_state.h"

#include <ATen/ops/empty_strided.h>

#include <algorithm>
#include <bit>
#include <typeinfo>

#include "antegrad/error.h"
#include "aten/below_recording.h"
#include "engine/hooks.h"
#include "engine/node_functions.h"
#include "engine/saved_fields.h"
#include "engine/scalars.h"

namespace antegrad::engine {
namespace {

constexpr int64_t kLargestSize = int64_t{1} << 40;

/// As detach(), without the dispatcher. Neither the history nor the .grad of a leaf matters here.
at::Tensor detached(const at::Tensor& tensor) {
  const auto* impl = tensor.unsafeGetTensorImpl();
  return at::Tensor(impl->shallow_copy_and_detach(impl->version_counter(), false));
}

/// While it lives, numbers that may change are 0, so that they are no part of what identifies a segment.
class Hidden {
 public:
  explicit Hidden(const Scalars& numbers) : numbers_(numbers) {
    for (auto* number : numbers_) own_.push_back(std::exchange(*number, at::Scalar(0.0)));
  }
  ~Hidden() {
    for (size_t i = 0; i < numbers_.size(); ++i) *numbers_[i] = own_[i];
  }
  Hidden(const Hidden&) = delete;
  Hidden& operator=(const Hidden&) = delete;

 private:
  const Scalars& numbers_;
  c10::SmallVector<at::Scalar, 3> own_;
};

at::Scalar* number_of(Node& node, NodeKind kind) {
  return kind == NodeKind::Scales ? changing_scalar(node) : nullptr;
}

/// All numbers of a node that may change. `number`: as number_of().
Scalars numbers_of(Node& node, NodeKind kind, at::Scalar* number) {
  auto numbers = kind == NodeKind::Generated ? plain_scalars(node) : Scalars();
  if (number != nullptr) numbers.push_back(number);
  return numbers;
}

}  // namespace

SegmentState::SegmentState(const PassGraph& graph, SegmentPlan& plan) {
  try {
    collect(graph, plan);
  } catch (const c10::Error& error) {
    throw CannotBeUnpacked(error.what_without_backtrace());
  } catch (const Error& error) {
    throw CannotBeUnpacked(error.what());
  }
}

/// Makes a tensor an input of the graph, once.
void SegmentState::keep(at::Tensor tensor, FlatIndex<uintptr_t>& known) {
  const auto [index, added] = tensor.defined()
                                  ? known.number(reinterpret_cast<uintptr_t>(tensor.unsafeGetTensorImpl()))
                                  : FlatIndex<uintptr_t>::Found{kNoNode, false};
  if (added) tensors_.push_back(std::move(tensor));
  collector_->collect_number(index);
}

void SegmentState::collect_node(size_t n, NodeKind kind, SegmentPlan& plan, FlatIndex<uintptr_t>& known) {
  SavedFields fields;
  const bool is_read = kind == NodeKind::Generated && read_fields(*plan.nodes[n], fields);
  collector_->collect_number(is_read);
  if (is_read) {
    collector_->collect_number(fields.rest);
    for (size_t i = 0; i < fields.count; ++i) keep(std::move(fields.tensors[i]), known);
    return;
  }
  auto* number = number_of(*plan.nodes[n], kind);
  if (number != nullptr) numbers_.emplace_back(n, as_number(*number));
  const auto& collected = collector_->compiler().tensor_args.inputs;
  auto next = collected.size();
  const auto numbers = numbers_of(*plan.nodes[n], kind, number);
  for (const auto* one : numbers)
    if (one != number) plain_numbers_.push_back(one->toDouble());
  {
    const Hidden hidden(numbers);
    collector_->collect(plan.nodes[n]);
  }
  for (; next < collected.size(); ++next) keep(collected[next], known);
}

/// Collects what identifies the segment, and what its nodes have saved.
void SegmentState::collect(const PassGraph& graph, SegmentPlan& plan) {
  FlatIndex<uintptr_t> known(plan.nodes.size());
  for (size_t n = 0; n < plan.nodes.size(); ++n) {
    const auto before = collector_->bytes().size();
    collect_node(n, graph.items[plan.part.items[n]].kind, plan, known);
    collector_->collect_number(reinterpret_cast<uint64_t>(&typeid(*plan.nodes[n])));
    for (const auto& target : plan.targets_of(n)) collector_->collect_number(target.bits());
    for (const auto& edge : plan.nodes[n]->next_edges())
      if (edge.is_valid()) collector_->collect(edge);
    collector_->collect_number(static_cast<uint64_t>(collector_->bytes().size() - before));
  }
  collect_sizes();
  for (const auto* slots : {&plan.part.incoming, &plan.part.asked_for, &std::as_const(plan.retained)}) {
    collector_->collect_number(static_cast<uint64_t>(slots->size()));
    for (const auto& slot : *slots) collector_->collect_number(uint64_t{slot.place} << 32 | slot.input);
  }
  collect_hooks(plan);
}

/// Collects hooks: of nodes by their place, then of trailing nodes by the gradient on which they are called.
void SegmentState::collect_hooks(const SegmentPlan& plan) {
  std::string text;
  const auto add = [&](uint64_t who, Node& node) {
    text.clear();
    append_hooks(node, text);
    if (text.empty()) return;
    collector_->collect_number(who);
    collector_->collect_number(static_cast<uint64_t>(text.size()));
    for (const char byte : text) collector_->collect_number(static_cast<uint8_t>(byte));
  };
  for (size_t n = 0; n < plan.nodes.size(); ++n) add(n, *plan.nodes[n]);
  for (size_t n = 0; n < plan.trailing.size(); ++n) {
    const auto& [node, slot] = plan.trailing[n];
    const auto out = std::find(plan.outgoing.begin(), plan.outgoing.end(), slot) - plan.outgoing.begin();
    add(uint64_t{1} << 63 | uint64_t{plan.part.trailing[n].turn} << 32 | static_cast<uint64_t>(out), *node);
  }
}

Collector::Ptr SegmentState::collect_for_tracing(SegmentPlan& plan) const {
  const aten::BelowRecording below;  // unpacking a result of an op calls an op
  auto all = Collector::take();
  for (auto& node : plan.nodes) {
    const auto kind = kind_of(*node);
    const auto numbers = numbers_of(*node, kind, number_of(*node, kind));
    const Hidden hidden(numbers);
    all->collect(node);
    for (const auto& edge : node->next_edges())
      if (edge.is_valid()) all->collect(edge);
  }
  if (all->compiler().tensor_args.inputs.size() != tensors_.size() ||
      all->compiler().all_size_inputs.size() != collector_->compiler().all_size_inputs.size())
    throw Error(ErrorCode::Internal, "compiled autograd", "nodes have saved something else than was read");
  return all;
}

/// Collects sizes, and integers of custom functions. Values that cannot be a symbol (0, 1, ends of slices)
/// are part of the structure.
void SegmentState::collect_sizes() {
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

Leaves SegmentState::leaves(variable_list gradients) const {
  Leaves out;
  out.tensors.reserve(gradients.size() + tensors_.size() + numbers_.size() + sizes_.size());
  for (auto& gradient : gradients) out.tensors.push_back(std::move(gradient));
  for (const auto& tensor : tensors_)
    out.tensors.push_back(tensor.requires_grad() ? detached(tensor) : tensor);
  for (const auto& [node, number] : numbers_) out.tensors.push_back(number);
  for (auto size : sizes_) out.tensors.push_back(at::empty_strided({size}, {0}));
  const auto add = [&](double number) { out.add_number(std::bit_cast<int64_t>(number), /*real=*/true); };
  for (const double number : plain_numbers_) add(number);
  for (const auto& lifted : collector_->compiler().lifted_ivalue_args.args)
    if (lifted.actual_ptr->isDouble()) add(lifted.actual_ptr->toDouble());
  return out;
}

void SegmentState::release() {
  tensors_.clear();
  collector_.reset();
}

}  // namespace antegrad::engine
