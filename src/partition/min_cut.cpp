#include "partition/min_cut.h"

#include <fmt/format.h>

#include <algorithm>

#include "antegrad/error.h"
#include "ir/text.h"
#include "partition/cost.h"
#include "partition/flow.h"

namespace antegrad::partition {
namespace {

/// One vertex per node and one per value. A node on the sink's side runs in the backward pass, a value there
/// is at hand in the backward pass. Edges that a cut pays for:
///   source -> node    computing it in the backward pass
///   node -> output    saving the output: the node runs in the forward pass only
///   source -> input   saving the input
/// Infinite ones: value -> node that reads it (what runs needs its arguments), value -> sink (demanded).
class CutProblem {
 public:
  CutProblem(const ir::Graph& joint, const Classes& classes, const Weights& weights)
      : joint_(joint), classes_(classes), weights_(weights) {}

  Plan solve() {
    find_relevant();
    find_shift();
    for (const auto index : relevant_nodes_) add_node(index);
    for (size_t i = 0; i < joint_.values.size(); ++i) add_value(i);
    for (const auto index : relevant_nodes_) add_reads(index);
    const auto path = infinite_path(network_);
    if (!path.empty()) fail(path);
    return read_plan(sink_side(network_));
  }

 private:
  void find_relevant();
  void find_shift();
  void add_node(size_t index);
  void add_value(size_t index);
  void add_reads(size_t index);
  Plan read_plan(const std::vector<bool>& late) const;
  [[noreturn]] void fail(const std::vector<int32_t>& path) const;
  std::string why_not(size_t value) const;

  int64_t capacity(int64_t weight) const {
    return weight == Weights::kNever ? FlowNetwork::kInfinite : (weight >> shift_);
  }
  bool is_demanded(size_t value) const {
    return relevant_values_[value] && (classes_.demanded[value] || must_save_now(value));
  }
  bool must_save_now(size_t value) const { return weights_.must_save[value] && classes_.eager_reads[value]; }

  const ir::Graph& joint_;
  const Classes& classes_;
  const Weights& weights_;
  std::vector<bool> relevant_values_;
  std::vector<size_t> relevant_nodes_;  ///< in order
  std::vector<int32_t> node_vertex_, value_vertex_;
  std::vector<bool> runs_once_;  ///< per node: dear and late, or computed from such a node
  FlowNetwork network_;
  int shift_ = 0;
};

/// What the backward pass demands, and all that it is computed from.
void CutProblem::find_relevant() {
  relevant_values_.assign(joint_.values.size(), false);
  runs_once_.assign(joint_.nodes.size(), false);
  node_vertex_.assign(joint_.nodes.size(), -1);
  value_vertex_.assign(joint_.values.size(), -1);
  for (size_t i = 0; i < joint_.values.size(); ++i)
    relevant_values_[i] =
        (classes_.demanded[i] || must_save_now(i)) && !is_none(joint_, {static_cast<int32_t>(i)});
  for (size_t i = joint_.nodes.size(); i-- > 0;) {
    const auto& node = joint_.nodes[i];
    const bool relevant =
        std::ranges::any_of(node.outputs, [&](auto id) { return relevant_values_[at(id)]; });
    if (!relevant || classes_.nodes[i].backward_only) continue;
    relevant_nodes_.push_back(i);
    for_each_read(node, [&](ir::ValueId id) {
      if (!is_none(joint_, id)) relevant_values_[at(id)] = true;
    });
  }
  std::ranges::reverse(relevant_nodes_);
}

/// Very large weights are made smaller, so that their sum stays below infinity.
void CutProblem::find_shift() {
  long double total = 0;
  for (const auto* weights : {&weights_.save, &weights_.recompute})
    for (const auto weight : *weights)
      if (weight != Weights::kNever) total += static_cast<long double>(weight);
  while (total / static_cast<long double>(int64_t{1} << shift_) >=
         static_cast<long double>(FlowNetwork::kInfinite))
    ++shift_;
}

void CutProblem::add_node(size_t index) {
  const int32_t vertex = node_vertex_[index] = network_.add_vertex();
  if (const auto cost = capacity(weights_.recompute[index]); cost > 0)
    network_.add_edge(FlowNetwork::kSource, vertex, cost);
  if (weights_.must_run[index]) network_.add_edge(vertex, FlowNetwork::kSink, FlowNetwork::kInfinite);
}

void CutProblem::add_value(size_t index) {
  if (!relevant_values_[index]) return;
  const int32_t vertex = value_vertex_[index] = network_.add_vertex();
  const int32_t node = classes_.definition[index];
  const bool computed = node >= 0 && !weights_.must_save[index];
  network_.add_edge(computed ? node_vertex_[static_cast<size_t>(node)] : FlowNetwork::kSource, vertex,
                    capacity(weights_.save[index]));
  if (is_demanded(index)) network_.add_edge(vertex, FlowNetwork::kSink, FlowNetwork::kInfinite);
}

/// A dear node that only the backward pass needs runs once: when it runs there, so does all that is computed
/// from it.
void CutProblem::add_reads(size_t index) {
  const auto& node = joint_.nodes[index];
  const int32_t vertex = node_vertex_[index];
  runs_once_[index] = !classes_.nodes[index].forward_needed && op_info(node).recompute >= ir::Recompute::Dear;
  for_each_read(node, [&](ir::ValueId id) {
    if (is_none(joint_, id)) return;
    network_.add_edge(value_vertex_[at(id)], vertex, FlowNetwork::kInfinite);
    const int32_t source = classes_.definition[at(id)];
    if (source < 0 || !runs_once_[static_cast<size_t>(source)]) return;
    runs_once_[index] = true;
    network_.add_edge(vertex, node_vertex_[static_cast<size_t>(source)], FlowNetwork::kInfinite);
  });
  const bool saved = std::ranges::any_of(
      node.outputs, [&](auto id) { return relevant_values_[at(id)] && weights_.must_save[at(id)]; });
  if (saved && runs_once_[index]) network_.add_edge(FlowNetwork::kSource, vertex, FlowNetwork::kInfinite);
}

/// Walks from what is demanded to what is saved.
Plan CutProblem::read_plan(const std::vector<bool>& late) const {
  Plan plan;
  plan.in_backward.resize(joint_.nodes.size());
  std::vector<bool> wanted(joint_.values.size());
  for (size_t i = 0; i < wanted.size(); ++i) wanted[i] = is_demanded(i);
  std::vector<bool> saved(joint_.values.size());
  const auto runs_late = [&](size_t node) { return late[static_cast<size_t>(node_vertex_[node])]; };
  for (size_t i = joint_.nodes.size(); i-- > 0;) {
    if (classes_.nodes[i].backward_only) plan.in_backward[i] = classes_.nodes[i].backward_needed;
    if (node_vertex_[i] < 0) continue;
    for (const auto id : joint_.nodes[i].outputs) {
      if (!wanted[at(id)]) continue;
      if (weights_.must_save[at(id)] || !runs_late(i))
        saved[at(id)] = true;
      else
        plan.in_backward[i] = true;
    }
    if (!plan.in_backward[i]) continue;
    plan.weight += weights_.recompute[i];
    for_each_read(joint_.nodes[i], [&](ir::ValueId id) { wanted[at(id)] = !is_none(joint_, id); });
  }
  for (const auto& input : joint_.inputs)
    if (wanted[at(input.value)]) plan.saved.push_back(input.value);
  for (const auto& node : joint_.nodes)
    for (const auto id : node.outputs)
      if (saved[at(id)]) plan.saved.push_back(id);
  for (const auto id : plan.saved) plan.weight += weights_.save[at(id)];
  return plan;
}

std::string CutProblem::why_not(size_t value) const {
  const auto& type = joint_.type_of({static_cast<int32_t>(value)});
  const int32_t node = classes_.definition[value];
  std::string text = fmt::format("%{}: {}", value, ir::print(type));
  if (node < 0) return text + fmt::format(", input {}, is no tensor to save", classes_.input[value]);
  const auto& made_by = joint_.nodes[static_cast<size_t>(node)];
  text += fmt::format(" = {}", made_by.op);
  text += type.tensor() ? ", not saved by rule" : ", no tensor to save";
  if (weights_.recompute[static_cast<size_t>(node)] != Weights::kNever) return text;
  if (classes_.nodes[static_cast<size_t>(node)].effectful)
    return text + ", runs once: it is random or ordered";
  return text + ", is not to be computed again";
}

void CutProblem::fail(const std::vector<int32_t>& path) const {
  std::string chain;
  for (const auto vertex : path)
    for (size_t i = 0; i < value_vertex_.size(); ++i)
      if (value_vertex_[i] == vertex) chain += "\n  " + why_not(i);
  throw Error(
      ErrorCode::InvalidArgument, "partition",
      "the backward pass reads values that can be neither saved nor computed again:" + chain,
      "Let the policy save one of them, or compute in the function what the gradient needs as a tensor");
}

}  // namespace

Plan min_cut(const ir::Graph& joint, const Classes& classes, const Weights& weights) {
  return CutProblem(joint, classes, weights).solve();
}

}  // namespace antegrad::partition
