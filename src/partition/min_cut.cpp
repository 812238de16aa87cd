#include "partition/min_cut.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "antegrad/error.h"
#include "ir/text.h"
#include "partition/cost.h"
#include "partition/flow.h"

namespace antegrad::partition {
namespace {

/// One vertex per node and one per value. A node on the sink side runs in the backward pass; a value on the
/// sink side is available in the backward pass. Edges of finite capacity, whose cost a cut pays:
///   source -> node    computing it in the backward pass
///   node -> output    saving the output: the node runs only in the forward pass
///   source -> input   saving the input
/// Edges of infinite capacity: value -> node that reads it (a node needs its arguments), value -> sink
/// (demanded).
class CutProblem {
 public:
  CutProblem(const ir::Graph& joint, const Classes& classes, const Weights& weights)
      : joint_(joint), classes_(classes), weights_(weights) {}

  Plan solve() {
    find_relevant();
    find_shift();
    for (const auto index : relevant_nodes_) add_node(index);
    for (const auto i : joint_.values.ids()) add_value(i);
    for (const auto index : relevant_nodes_) add_reads(index);
    const auto path = infinite_path(network_);
    if (!path.empty()) fail(path);
    return read_plan(sink_side(network_));
  }

 private:
  void find_relevant();
  void find_shift();
  void add_node(ir::NodeId index);
  void add_value(ir::ValueId index);
  void add_reads(ir::NodeId index);
  Plan read_plan(const IdMap<VertexId, bool>& late) const;
  [[noreturn]] void fail(const std::vector<VertexId>& path) const;
  std::string why_not(ir::ValueId value) const;

  int64_t capacity(int64_t weight) const {
    return weight == Weights::kNever ? FlowNetwork::kInfinite : (weight >> shift_);
  }
  bool is_demanded(ir::ValueId value) const {
    return relevant_values_[value] && (classes_.values[value].demanded || must_save_now(value));
  }
  bool must_save_now(ir::ValueId value) const {
    return weights_.values[value].must_save && classes_.values[value].eager_reads;
  }

  const ir::Graph& joint_;
  const Classes& classes_;
  const Weights& weights_;
  ir::PerValue<bool> relevant_values_;
  std::vector<ir::NodeId> relevant_nodes_;  ///< in order
  ir::PerNode<VertexId> node_vertex_;
  ir::PerValue<VertexId> value_vertex_;
  ir::PerNode<bool> runs_once_;  ///< expensive and needed only late, or computed from such nodes
  FlowNetwork network_;
  int shift_ = 0;
};

/// Finds what the backward pass demands, and everything that it is computed from.
void CutProblem::find_relevant() {
  relevant_values_.assign(joint_.values.size(), false);
  runs_once_.assign(joint_.nodes.size(), false);
  node_vertex_.resize(joint_.nodes.size());
  value_vertex_.resize(joint_.values.size());
  for (const auto i : joint_.values.ids())
    relevant_values_[i] = (classes_.values[i].demanded || must_save_now(i)) && !is_none(joint_, i);
  for (const auto i : joint_.node_ids() | std::views::reverse) {
    const auto& node = joint_.node(i);
    const bool relevant = std::ranges::any_of(node.outputs, [&](auto id) { return relevant_values_[id]; });
    if (!relevant || classes_.nodes[i].backward_only) continue;
    relevant_nodes_.push_back(i);
    for_each_read(node, [&](ir::ValueId id) {
      if (!is_none(joint_, id)) relevant_values_[id] = true;
    });
  }
  std::ranges::reverse(relevant_nodes_);
}

/// Scales down very large weights, so that their sum stays below infinity.
void CutProblem::find_shift() {
  long double total = 0;
  const auto add = [&](int64_t weight) {
    if (weight != Weights::kNever) total += static_cast<long double>(weight);
  };
  for (const auto& value : weights_.values) add(value.save);
  for (const auto& node : weights_.nodes) add(node.recompute);
  while (total / static_cast<long double>(int64_t{1} << shift_) >=
         static_cast<long double>(FlowNetwork::kInfinite))
    ++shift_;
}

void CutProblem::add_node(ir::NodeId index) {
  const auto vertex = node_vertex_[index] = network_.add_vertex();
  if (const auto cost = capacity(weights_.nodes[index].recompute); cost > 0)
    network_.add_edge(FlowNetwork::kSource, vertex, cost);
  if (weights_.nodes[index].must_run) network_.add_edge(vertex, FlowNetwork::kSink, FlowNetwork::kInfinite);
}

void CutProblem::add_value(ir::ValueId index) {
  if (!relevant_values_[index]) return;
  const auto vertex = value_vertex_[index] = network_.add_vertex();
  const auto node = classes_.values[index].definition;
  const bool computed = node.valid() && !weights_.values[index].must_save;
  network_.add_edge(computed ? node_vertex_[node] : FlowNetwork::kSource, vertex,
                    capacity(weights_.values[index].save));
  if (is_demanded(index)) network_.add_edge(vertex, FlowNetwork::kSink, FlowNetwork::kInfinite);
}

/// An expensive node that only the backward pass needs must run once: if it runs in the backward pass, so
/// does everything computed from it.
void CutProblem::add_reads(ir::NodeId index) {
  const auto& node = joint_.node(index);
  const auto vertex = node_vertex_[index];
  runs_once_[index] =
      !classes_.nodes[index].forward_needed && op_info(node).recompute >= ir::Recompute::Expensive;
  for_each_read(node, [&](ir::ValueId id) {
    if (is_none(joint_, id)) return;
    network_.add_edge(value_vertex_[id], vertex, FlowNetwork::kInfinite);
    const auto source = classes_.values[id].definition;
    if (!source.valid() || !runs_once_[source]) return;
    runs_once_[index] = true;
    network_.add_edge(vertex, node_vertex_[source], FlowNetwork::kInfinite);
  });
  const bool saved = std::ranges::any_of(
      node.outputs, [&](auto id) { return relevant_values_[id] && weights_.values[id].must_save; });
  if (saved && runs_once_[index]) network_.add_edge(FlowNetwork::kSource, vertex, FlowNetwork::kInfinite);
}

/// Walks from the demanded values to the saved ones.
Plan CutProblem::read_plan(const IdMap<VertexId, bool>& late) const {
  Plan plan;
  plan.in_backward.resize(joint_.nodes.size());
  ir::PerValue<bool> wanted(joint_.values.size());
  for (const auto i : joint_.values.ids()) wanted[i] = is_demanded(i);
  ir::PerValue<bool> saved(joint_.values.size());
  const auto runs_late = [&](ir::NodeId node) { return late[node_vertex_[node]]; };
  for (const auto i : joint_.node_ids() | std::views::reverse) {
    if (classes_.nodes[i].backward_only) plan.in_backward[i] = classes_.nodes[i].backward_needed;
    if (!node_vertex_[i].valid()) continue;
    for (const auto id : joint_.node(i).outputs) {
      if (!wanted[id]) continue;
      if (weights_.values[id].must_save || !runs_late(i))
        saved[id] = true;
      else
        plan.in_backward[i] = true;
    }
    if (!plan.in_backward[i]) continue;
    plan.weight += weights_.nodes[i].recompute;
    for_each_read(joint_.node(i), [&](ir::ValueId id) { wanted[id] = !is_none(joint_, id); });
  }
  for (const auto& input : joint_.inputs)
    if (wanted[input.value]) plan.saved.push_back(input.value);
  for (const auto& node : joint_.nodes)
    for (const auto id : node.outputs)
      if (saved[id]) plan.saved.push_back(id);
  for (const auto id : plan.saved) plan.weight += weights_.values[id].save;
  return plan;
}

std::string CutProblem::why_not(ir::ValueId value) const {
  const auto& type = joint_.type_of(value);
  const auto node = classes_.values[value].definition;
  std::string text = fmt::format("%{}: {}", value.index, ir::print(type));
  if (!node.valid())
    return text + fmt::format(", input {}, cannot be saved (not a tensor)", classes_.values[value].input);
  const auto& made_by = joint_.node(node);
  text += fmt::format(" = {}", made_by.op);
  text += type.tensor() ? ", not saved by rule" : ", cannot be saved (not a tensor)";
  if (weights_.nodes[node].recompute != Weights::kNever) return text;
  if (classes_.nodes[node].effectful) return text + ", runs once: it is random or ordered";
  return text + ", must not be recomputed";
}

void CutProblem::fail(const std::vector<VertexId>& path) const {
  std::string chain;
  for (const auto vertex : path)
    for (const auto i : value_vertex_.ids())
      if (value_vertex_[i] == vertex) chain += "\n  " + why_not(i);
  throw Error(
      ErrorCode::InvalidArgument, "partition",
      "the backward pass reads values that can be neither saved nor recomputed:" + chain,
      "Let the policy save one of them, or compute in the function what the gradient needs as a tensor");
}

}  // namespace

Plan min_cut(const ir::Graph& joint, const Classes& classes, const Weights& weights) {
  return CutProblem(joint, classes, weights).solve();
}

}  // namespace antegrad::partition
