#include "partition/weights.h"

#include <algorithm>
#include <limits>
#include <ranges>

#include "partition/cost.h"

namespace antegrad::partition {
namespace {

constexpr int64_t kByte = 64;            // the unit: keeping one byte
constexpr int64_t kTensor = 64 * kByte;  // bookkeeping for one more saved tensor
constexpr int64_t kNode = kByte;         // running one more node

/// Costs of recomputing, per byte of output (per byte read, for reductions).
constexpr int64_t kFactory = 1, kPointwise = 1, kGather = 8, kScatter = 16, kReduction = 32;
constexpr int64_t kExtern = 4 * kByte;
/// Nodes of the backward pass: what is computed for readers that are further apart has to be kept between.
constexpr int32_t kFar = 48;
constexpr int64_t kLarge = 1 << 20;  ///< bytes from which on reading and writing them takes a GPU some time

class Weigher {
 public:
  Weigher(const ir::Graph& joint, const Classes& classes, const Limits& limits)
      : joint_(joint), classes_(classes), limits_(limits) {
    find_readers();
  }

  Weights run() {
    Weights out;
    out.values.resize(joint_.values.size());
    out.nodes.resize(joint_.nodes.size());
    for (const auto id : joint_.values.ids()) {
      const auto& value = classes_.values[id];
      if (value.backward_only || (!value.definition.valid() && value.input < 0)) continue;
      out.values[id] = {save(id), keep(id) == Keep::Save};
    }
    for (const auto id : joint_.node_ids())
      out.nodes[id] = {recompute(id), limits_.level == Level::Views && runs_late_in_eager(id)};
    return out;
  }

 private:
  Keep keep(ir::ValueId id) const { return limits_.keep.empty() ? Keep::Auto : limits_.keep[id]; }
  bool allowed(ir::NodeId node) const { return !limits_.allowed.empty() && limits_.allowed[node]; }
  int64_t save(ir::ValueId id) const;
  int64_t save_input(ir::ValueId id) const;
  int64_t recompute(ir::NodeId index) const;
  int64_t rate(const ir::Node& node) const;
  bool runs_late_in_eager(ir::NodeId node) const;
  bool needs_old_memory(const ir::Node& node) const;
  void find_readers();
  int64_t keeping(const ir::Node& node) const;
  bool is_in_memory(ir::ValueId id) const;

  /// The first and the last node of the backward pass that reads a value, or what may be recomputed from it.
  struct Readers {
    int32_t first = std::numeric_limits<int32_t>::max(), last = -1;
    void add(const Readers& other) {
      first = std::min(first, other.first);
      last = std::max(last, other.last);
    }
  };

  const ir::Graph& joint_;
  const Classes& classes_;
  const Limits& limits_;
  ir::PerValue<Readers> readers_;
  ir::PerValue<ir::NodeId> last_forward_reader_;
  ir::PerNode<int32_t> calls_before_;  ///< of ops that no kernel can contain
};

/// An input costs no additional memory, but a read, and the caller may neither free nor change it from then
/// on.
int64_t Weigher::save_input(ir::ValueId id) const {
  if (limits_.level == Level::All) return 1;
  const int64_t bytes = dense_bytes(joint_, id) * kByte;
  const bool as_eager = classes_.values[id].eager_detects_writes;
  const auto role = joint_.inputs[classes_.values[id].input].role;
  if (role == ir::InputRole::UserInput) return kByte + (as_eager ? bytes / 4 : bytes / 2);
  return kByte + (as_eager ? 0 : bytes / 16);
}

int64_t Weigher::save(ir::ValueId id) const {
  const auto* type = joint_.type_of(id).tensor();
  if (type == nullptr || keep(id) == Keep::Recompute) return Weights::kNever;
  if (classes_.values[id].needs_copy) return kTensor + dense_bytes(joint_, id) * (kByte + kByte / 8);
  if (classes_.values[id].input >= 0) return save_input(id);
  const auto node = classes_.values[id].definition;
  const int64_t bytes = storage_bytes(joint_, id) * kByte;
  int64_t cost = kTensor + (classes_.values[id].is_returned ? bytes / 16 : bytes);
  if (!classes_.nodes[node].forward_needed) cost += 4;                         // prefer its source
  if (joint_.storage_of(id) != id) cost += 8;                                  // prefer its base
  if (ir::is_floating(type->dtype) || ir::is_complex(type->dtype)) cost += 1;  // prefer a mask or an index
  if (type->device.kind == ir::Device::Kind::Cuda && bytes >= kLarge * kByte && !is_in_memory(id))
    cost += bytes / 8;  // one more write
  return cost;
}

/// Whether the node was recorded in the backward pass and runs only there, unless a rule requires saving it.
bool Weigher::runs_late_in_eager(ir::NodeId node) const {
  const auto& cls = classes_.nodes[node];
  const bool saved =
      std::ranges::any_of(joint_.node(node).outputs, [&](ir::ValueId id) { return keep(id) == Keep::Save; });
  return joint_.node(node).provenance.backward && !cls.backward_only && !cls.forward_needed && !saved;
}

/// Whether it addresses memory by absolute position, so that it cannot read from a copy.
bool Weigher::needs_old_memory(const ir::Node& node) const {
  if (node.op != "aten.as_strided" && node.op != "antegrad.strided") return false;
  bool copied = false;
  for_each_read(node, [&](ir::ValueId id) { copied |= classes_.values[id].needs_copy; });
  return copied;
}

void Weigher::find_readers() {
  readers_.resize(joint_.values.size());
  last_forward_reader_.resize(joint_.values.size());
  calls_before_.resize(joint_.nodes.size());
  int32_t calls = 0;
  for (const auto id : joint_.node_ids()) {
    const auto& node = joint_.node(id);
    const auto kind = op_info(node).kind;
    calls_before_[id] = calls;
    if (kind == ir::OpKind::Matmul || kind == ir::OpKind::Extern) ++calls;
    if (classes_.nodes[id].forward_needed)
      for_each_read(node, [&](ir::ValueId value) { last_forward_reader_[value] = id; });
  }
  for (const auto id : joint_.node_ids() | std::views::reverse) {
    const auto& node = joint_.node(id);
    Readers readers;
    if (classes_.nodes[id].backward_only)
      readers = {id.index, id.index};
    else if (!is_expensive(node) && can_recompute(node, classes_.nodes[id]))
      for (const auto output : node.outputs) readers.add(readers_[output]);
    for_each_read(node, [&](ir::ValueId value) { readers_[value].add(readers); });
  }
}

/// The sum of residual connections, for instance, is needed by every layer: by the last one first, for which
/// all of it has to be recomputed. On CUDA devices, where kernels wait for memory, that is no better than to
/// save it.
int64_t Weigher::keeping(const ir::Node& node) const {
  int64_t cost = 0;
  for (const auto id : node.outputs) {
    const auto* type = joint_.type_of(id).tensor();
    if (type == nullptr || type->device.kind != ir::Device::Kind::Cuda || joint_.storage_of(id) != id)
      continue;
    const auto bytes = storage_bytes(joint_, id);
    if (bytes >= kLarge && readers_[id].last - readers_[id].first > kFar) cost += bytes * kByte;
  }
  return cost;
}

/// Whether the forward pass has to write a value to memory anyway, for one of LibTorch's ops or a kernel that
/// runs after one.
bool Weigher::is_in_memory(ir::ValueId id) const {
  const auto& value = classes_.values[id];
  if (!value.definition.valid() || value.is_returned) return true;
  const auto kind = op_info(joint_.node(value.definition)).kind;
  if (kind != ir::OpKind::Pointwise) return true;
  const auto reader = last_forward_reader_[id];
  if (!reader.valid()) return false;  // computed for the backward pass only
  const auto read_by = op_info(joint_.node(reader)).kind;
  if (read_by == ir::OpKind::View) return true;
  return read_by == ir::OpKind::Matmul || read_by == ir::OpKind::Extern ||
         calls_before_[reader] > calls_before_[value.definition];
}

int64_t Weigher::rate(const ir::Node& node) const {
  const auto info = op_info(node);
  const int64_t made = bytes_made(joint_, node);
  switch (info.kind) {
    case ir::OpKind::View:
      return made == 0 ? 0 : kNode + made * kPointwise;
    case ir::OpKind::Factory:
      return made * kFactory;
    case ir::OpKind::Pointwise:
      return kNode + made * kPointwise + keeping(node);
    case ir::OpKind::Gather:
      return kNode + made * kGather;
    case ir::OpKind::Scatter:
      return kNode + made * kScatter;
    case ir::OpKind::Reduction:
      return kNode + bytes_read(joint_, node) * kReduction;
    default:
      return kNode + (bytes_read(joint_, node) + made) * kExtern;
  }
}

int64_t Weigher::recompute(ir::NodeId index) const {
  const auto& node = joint_.node(index);
  const auto& cls = classes_.nodes[index];
  if (cls.backward_only) return 0;
  if (needs_old_memory(node)) return Weights::kNever;
  const auto info = op_info(node);
  // reshape and similar ops are free if they return views, but not if they copy.
  const bool is_free = info.recompute == ir::Recompute::Free &&
                       (info.kind == ir::OpKind::Factory || bytes_made(joint_, node) == 0);
  const bool pinned = limits_.level == Level::Views && !is_free;
  // Values that the forward pass does not need are computed only once, in either pass.
  if (!cls.forward_needed) return pinned && !node.provenance.backward ? Weights::kNever : 0;
  if (!can_recompute(node, cls)) return Weights::kNever;
  const bool by_rule =
      std::ranges::any_of(node.outputs, [&](ir::ValueId id) { return keep(id) == Keep::Recompute; });
  if (limits_.level == Level::All || by_rule) return 0;
  if (allowed(index)) return kNode + bytes_made(joint_, node) * kPointwise;
  const bool can_be_saved = std::ranges::all_of(
      node.outputs, [&](ir::ValueId id) { return joint_.type_of(id).tensor() || is_none(joint_, id); });
  if (can_be_saved && (pinned || is_expensive(node))) return Weights::kNever;
  return rate(node);
}

}  // namespace

bool is_expensive(const ir::Node& node) {
  const auto info = op_info(node);
  return info.recompute == ir::Recompute::Expensive && info.kind != ir::OpKind::Reduction;
}

bool can_recompute(const ir::Node& node, const NodeClass& node_class) {
  return !node_class.effectful && op_info(node).recompute != ir::Recompute::Never;
}

Weights weigh(const ir::Graph& joint, const Classes& classes, const Limits& limits) {
  return Weigher(joint, classes, limits).run();
}

}  // namespace antegrad::partition
