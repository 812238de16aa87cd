#include "partition/min_cut.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <ranges>

#include "antegrad/error.h"
#include "graph/random_joint.h"
#include "ir/text.h"
#include "partition/cost.h"
#include "partition/flow.h"
#include "partition/partition.h"

namespace antegrad::partition {
namespace {

/// Tries every set of nodes to run in the backward pass, using the definition of a plan instead of a network.
class BruteForce {
 public:
  BruteForce(const ir::Graph& joint, const Classes& classes, const Weights& weights)
      : joint_(joint), classes_(classes), weights_(weights) {
    for (const auto i : joint.node_ids())
      if (!classes.nodes[i].backward_only && weights.nodes[i].recompute != Weights::kNever)
        free_.push_back(i);
  }

  size_t choices() const { return free_.size(); }

  std::optional<int64_t> least() const {
    std::optional<int64_t> best;
    for (uint32_t set = 0; set < (1u << free_.size()); ++set)
      if (const auto weight = weigh_set(set); weight && (!best || *weight < *best)) best = weight;
    return best;
  }

 private:
  std::optional<int64_t> weigh_set(uint32_t set) const {
    ir::PerNode<bool> runs(joint_.nodes.size());
    int64_t weight = 0;
    for (size_t i = 0; i < free_.size(); ++i) {
      runs[free_[i]] = (set >> i) & 1;
      if (runs[free_[i]]) weight += weights_.nodes[free_[i]].recompute;
    }
    for (const auto i : joint_.node_ids())
      if (weights_.nodes[i].must_run && !runs[i]) return std::nullopt;
    const auto saved = saved_by(runs);
    for (const auto i : saved.ids()) {
      if (!saved[i]) continue;
      if (weights_.values[i].save == Weights::kNever) return std::nullopt;
      weight += weights_.values[i].save;
    }
    if (runs_dear_twice(runs, saved)) return std::nullopt;
    return weight;
  }

  /// What the backward pass reads but does not compute.
  ir::PerValue<bool> saved_by(const ir::PerNode<bool>& runs) const {
    ir::PerValue<bool> saved(joint_.values.size());
    const auto read = [&](ir::ValueId id) {
      const auto source = classes_.values[id].definition;
      if (is_none(joint_, id) || classes_.values[id].backward_only) return;
      if (!source.valid() || !runs[source] || weights_.values[id].must_save) saved[id] = true;
    };
    for (const auto i : joint_.node_ids())
      if (runs[i] || classes_.nodes[i].backward_needed) for_each_read(joint_.node(i), read);
    for (const auto i : joint_.values.ids())
      if (classes_.values[i].demanded || (weights_.values[i].must_save && classes_.values[i].eager_reads))
        read(i);
    return saved;
  }

  /// Whether an expensive node that only the backward pass needs runs in both graphs.
  bool runs_dear_twice(const ir::PerNode<bool>& runs, ir::PerValue<bool> in_forward) const {
    for (const auto i : joint_.node_ids() | std::views::reverse) {
      const auto& node = joint_.node(i);
      const auto& cls = classes_.nodes[i];
      if (cls.backward_only) continue;
      const bool needed =
          cls.forward_needed || std::ranges::any_of(node.outputs, [&](auto id) { return in_forward[id]; });
      if (!needed) continue;
      if (runs[i] && !cls.forward_needed && op_info(node).recompute >= ir::Recompute::Expensive) return true;
      for_each_read(node, [&](ir::ValueId id) { in_forward[id] = true; });
    }
    return false;
  }

  const ir::Graph& joint_;
  const Classes& classes_;
  const Weights& weights_;
  std::vector<ir::NodeId> free_;
};

ir::PerValue<Keep> random_keeps(const ir::Graph& joint, const Classes& classes, uint32_t seed) {
  std::mt19937 random(seed);
  ir::PerValue<Keep> keeps(joint.values.size(), Keep::Auto);
  for (const auto i : keeps.ids()) {
    const auto node = classes.values[i].definition;
    if (!node.valid() || classes.values[i].backward_only || is_none(joint, i)) continue;
    if (!can_recompute(joint.node(node), classes.nodes[node])) continue;
    if (const auto draw = random() % 8; draw < 2) keeps[i] = draw == 0 ? Keep::Save : Keep::Recompute;
  }
  return keeps;
}

TEST(MinCut, EqualsBruteForce) {
  int compared = 0, recomputing = 0;
  for (uint32_t seed = 0; seed < 1500; ++seed) {
    const auto joint = random_joint(seed, 2 + static_cast<int>(seed % 7));
    const auto classes = classify(joint);
    Limits limits{static_cast<Level>(seed % 3), {}, {}};
    if (seed % 2 == 1) limits.keep = random_keeps(joint, classes, seed);
    const auto weights = weigh(joint, classes, limits);
    const BruteForce brute(joint, classes, weights);
    if (brute.choices() > 11) continue;
    SCOPED_TRACE(fmt::format("seed {}\n{}", seed, ir::print(joint)));
    const auto least = brute.least();
    if (!least) {
      EXPECT_THROW(min_cut(joint, classes, weights), Error);
      continue;
    }
    const auto plan = min_cut(joint, classes, weights);
    ASSERT_EQ(plan.weight, *least);
    ++compared;
    for (const auto i : joint.node_ids())
      recomputing += plan.in_backward[i] && classes.nodes[i].forward_needed;
  }
  EXPECT_GT(compared, 500);
  EXPECT_GT(recomputing, 300);
}

TEST(MinCut, TakesWeightsWhoseSumIsBeyondInfinity) {
  auto joint = random_joint(5, 12);
  const auto classes = classify(joint);
  auto weights = weigh(joint, classes, {});
  const auto before = min_cut(joint, classes, weights);
  const auto enlarge = [](int64_t& weight) {
    if (weight != Weights::kNever) weight <<= 38;
  };
  for (auto& value : weights.values) enlarge(value.save);
  for (auto& node : weights.nodes) enlarge(node.recompute);
  const auto after = min_cut(joint, classes, weights);
  EXPECT_EQ(before.saved, after.saved);
  EXPECT_EQ(before.in_backward, after.in_backward);
}

// ERR-17, ERR-18
TEST(MinCut, NamesTheChainThatHasNoCut) {
  const auto joint = ir::parse(R"(
graph @f joint {
  in %0: f32[4] user "x"
  in %1: f32[4] tangent
  %2: f32[4], %3: int = aten.custom_sample(%0) random at "net"
  %4: int = aten.custom_next(%3)
  %5: f32[4] = aten.custom_backward(%1, %4) backward
  out %2 user
  out %5 grad 0
}
)");
  try {
    partition(joint);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
    EXPECT_EQ(
        std::string(error.what()),
        "[partition] the backward pass reads values that can be neither saved nor recomputed:\n"
        "  %3: int = aten.custom_sample, cannot be saved (not a tensor), runs once: it is random or ordered\n"
        "  %4: int = aten.custom_next, cannot be saved (not a tensor). Let the policy save one of them, or "
        "compute in the "
        "function what the gradient needs as a tensor.");
  }
}

// ERR-18: a value that is not a tensor and need not be saved does no harm.
TEST(MinCut, ComputesAgainWhatIsNoTensor) {
  const auto joint = ir::parse(R"(
graph @f joint {
  in %0: f32[4] user "x"
  in %1: f32[4] tangent
  aten._assert_async(%0) ordered
  %2: int = aten.custom_count(%0)
  %3: f32[4] = aten.custom_scale(%0, %2)
  %4: f32[4] = aten.custom_scale_backward(%1, %0, %2) backward
  out %3 user
  out %4 grad 0
}
)");
  for (const auto& policy : {Policy(MinCut{}), Policy(SaveAll{}), Policy(RecomputeAll{})}) {
    const auto parts = partition(joint, policy);
    EXPECT_EQ(parts.saved, std::vector<Saved>{{.input = 0}});
    EXPECT_EQ(parts.saved_bytes, 0);
    EXPECT_EQ(parts.backward.nodes.size(), 2u);
  }
}

TEST(Flow, FindsTheSmallestSinkSideAndInfinitePaths) {
  FlowNetwork network;  // source -3- a -3- b -inf- sink, source -1- b
  const auto a = network.add_vertex(), b = network.add_vertex();
  network.add_edge(FlowNetwork::kSource, a, 3);
  network.add_edge(a, b, 3);
  network.add_edge(FlowNetwork::kSource, b, 1);
  network.add_edge(b, FlowNetwork::kSink, FlowNetwork::kInfinite);
  EXPECT_TRUE(infinite_path(network).empty());
  EXPECT_EQ(sink_side(network).list(), (std::vector<bool>{false, true, false, true}));
  network.add_edge(FlowNetwork::kSource, a, FlowNetwork::kInfinite);
  EXPECT_TRUE(infinite_path(network).empty());
  network.add_edge(a, b, FlowNetwork::kInfinite);
  EXPECT_EQ(infinite_path(network), (std::vector<VertexId>{a, b}));
}

}  // namespace
}  // namespace antegrad::partition
