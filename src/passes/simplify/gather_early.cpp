#include "passes/simplify/gather_early.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "ir/ops.h"
#include "passes/rewrite/builder.h"
#include "passes/rewrite/layout.h"
#include "passes/rewrite/rewrite.h"

namespace antegrad::passes {
namespace {

constexpr int64_t kFewer = 4;    ///< by this factor at least, elements are fewer than those of the source
constexpr size_t kMostOps = 16;  ///< that are moved behind one gather

/// Builds what a gather reads from the sources of its source.
class Picker {
 public:
  Picker(ir::Graph& graph, const std::map<Value, ir::Node>& pointwise, Builder& b, const Call& call)
      : graph_(graph), pointwise_(pointwise), b_(b), source_(call.type(call.tensor(0))) {
    if (source_.device.kind != ir::Device::Kind::Cuda) throw NotHandled();
    index_ = call.tensor(2);
    sizes_ = b.sizes(index_);
    if (sizes_.size() != source_.sizes.size() || sizes_.empty()) throw NotHandled();
    dim_ = Call::wrapped(call.integer(1), sizes_.size());
    // Elsewhere a gather may read a part of its source only.
    for (size_t d = 0; d < sizes_.size(); ++d)
      if (d != dim_ && sizes_[d] != source_.sizes[d]) throw NotHandled();
    if (kFewer * likely_count(sizes_) > likely_count(source_.sizes)) throw NotHandled();
  }

  /// Returns the picked elements of a source that a pointwise op computes. Throws NotHandled for any other.
  Value run(Value source) {
    if (!is_moved(source)) throw NotHandled();
    return picked(source);
  }

 private:
  int64_t likely_count(const Sizes& sizes) const {
    ir::Dim count = 1;
    for (const auto& size : sizes) count = count * size;
    return b_.likely(count);
  }

  bool is_moved(Value id) const {
    const auto found = pointwise_.find(id);
    if (found == pointwise_.end() || graph_.tensor_type(id).sizes != source_.sizes) return false;
    bool fits = true;
    ir::for_each_input(found->second, [&](Value operand) { fits = fits && fits_to(operand); });
    return fits;
  }

  /// Whether an operand is as large as the source, or is the same along the dim of the gather.
  bool fits_to(Value operand) const {
    const auto& type = graph_.tensor_type(operand);
    if (type.sizes.empty()) return true;
    if (type.device != source_.device || type.sizes.size() != source_.sizes.size()) return false;
    return type.sizes[dim_] == ir::Dim(1) || type.sizes == source_.sizes;
  }

  Value picked(Value id) {
    const auto& type = graph_.tensor_type(id);
    if (type.sizes.empty() || (type.sizes[dim_] == ir::Dim(1) && type.sizes != source_.sizes)) return id;
    if (const auto known = picked_.find(id); known != picked_.end()) return known->second;
    const auto value = is_moved(id) ? moved(pointwise_.at(id), type.dtype) : gathered(id);
    picked_[id] = value;
    return value;
  }

  Value gathered(Value id) {
    return b_.emit("aten.gather", {id, static_cast<int64_t>(dim_), index_},
                   ir::contiguous_tensor(b_.type(id).dtype, sizes_, source_.device));
  }

  Value moved(const ir::Node& node, ir::DType dtype) {
    if (++ops_ > kMostOps) throw NotHandled();
    auto args = node.args;
    std::vector<Value> operands;
    for (auto& arg : args)
      if (const auto* id = arg.as<Value>()) {
        operands.push_back(picked(*id));
        arg = operands.back();
      }
    std::vector<const ir::TensorType*> types;
    for (const auto operand : operands) types.push_back(&graph_.tensor_type(operand));
    const auto strides = pointwise_strides(graph_, sizes_, types);
    if (!strides) throw NotHandled();
    return b_.emit(node.op, std::move(args), {dtype, source_.device, sizes_, *strides, 0}, node.attrs);
  }

  ir::Graph& graph_;
  const std::map<Value, ir::Node>& pointwise_;
  Builder& b_;
  ir::TensorType source_;
  Value index_;
  Sizes sizes_;
  size_t dim_ = 0, ops_ = 0;
  std::map<Value, Value> picked_;
};

/// Whether a node may run on fewer elements: it computes each from those at the same position, and cannot
/// fail for others.
bool may_move(const ir::Graph& graph, const ir::Node& node) {
  const auto* info = ir::find_op(node.op);
  if (info == nullptr || info->kind != ir::OpKind::Pointwise || !node.effects.none() ||
      node.outputs.size() != 1 || node.provenance.backward || ir::raises(node.op) != ir::Raises::Never)
    return false;
  const auto* result = graph.type_of(node.outputs[0]).tensor();
  bool tensors = result != nullptr && graph.storage_of(node.outputs[0]) == node.outputs[0];
  ir::for_each_input(node, [&](Value id) { tensors = tensors && graph.type_of(id).tensor() != nullptr; });
  return tensors && std::ranges::none_of(
                        node.args, [](const ir::Arg& arg) { return arg.as<ir::Arg::List>() != nullptr; });
}

class Mover {
 public:
  explicit Mover(ir::Graph& graph) : graph_(graph) {}

  bool run() {
    bool changed = false;
    for (auto& node : std::exchange(graph_.nodes, {})) {
      if (node.op == "aten.gather" && node.effects.none() && !node.provenance.backward && move(node)) {
        changed = true;
        continue;
      }
      if (may_move(graph_, node)) pointwise_.emplace(node.outputs[0], node);
      graph_.nodes.push_back(std::move(node));
    }
    if (changed) graph_.compact();
    return changed;
  }

 private:
  bool move(const ir::Node& gather) {
    const auto values = graph_.values.size();
    try {
      Builder b(graph_, gather);
      const Call call(graph_, gather);
      b.define(call.output(0), Picker(graph_, pointwise_, b, call).run(call.tensor(0)));
      auto nodes = b.take(gather);
      std::ranges::move(nodes, std::back_inserter(graph_.nodes));
      return true;
    } catch (const NotHandled&) {
      graph_.values.resize(values);
      return false;
    }
  }

  ir::Graph& graph_;
  std::map<Value, ir::Node> pointwise_;  ///< by result
};

}  // namespace

bool gather_early(ir::Graph& graph) { return is_functional(graph) && Mover(graph).run(); }

}  // namespace antegrad::passes
