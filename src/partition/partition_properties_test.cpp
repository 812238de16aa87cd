// Properties of every partition, on random joint graphs and under every policy.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "graph/random_joint.h"
#include "graph/symbolic.h"
#include "ir/substitute.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "partition/classify.h"
#include "partition/cost.h"
#include "partition/partition.h"
#include "passes/simplify/dead_code.h"

namespace antegrad::partition {
namespace {

constexpr uint32_t kGraphs = 400;

using Named = std::pair<const char*, Policy>;

Keep by_name(const Candidate& candidate) {
  if (candidate.op == "aten.tanh") return Keep::Recompute;
  return candidate.dear && candidate.bytes > 2000 ? Keep::Recompute : Keep::Save;
}

const std::vector<Named>& policies() {
  static const std::vector<Named> all = {{"MinCut", MinCut{}},
                                         {"SaveAll", SaveAll{}},
                                         {"RecomputeAll", RecomputeAll{}},
                                         {"Least", MemoryBudget::fraction(0)},
                                         {"User", UserPolicy{"by_name", by_name}}};
  return all;
}

std::vector<uint64_t> input_hashes(const ir::Graph& graph) {
  std::vector<uint64_t> out;
  for (size_t i = 0; i < graph.inputs.size(); ++i) out.push_back(mix(77, i));
  return out;
}

bool is_mutated(const ir::Graph& joint, int32_t input) {
  return std::ranges::any_of(joint.outputs, [&](const ir::Output& output) {
    return output.role == ir::OutputRole::MutatedInput && output.target == input;
  });
}

/// Runs the forward graph, passes saved values on, and runs the backward graph.
std::vector<uint64_t> run_both(const ir::Graph& joint, const Partition& parts) {
  const auto all = input_hashes(joint);
  std::vector<uint64_t> first, tangents;
  for (size_t i = 0; i < joint.inputs.size(); ++i)
    (joint.inputs[i].role == ir::InputRole::Tangent ? tangents : first).push_back(all[i]);
  const auto results = SymbolicRun(parts.forward, first).outputs();
  std::vector<uint64_t> second;
  for (const auto& saved : parts.saved)
    second.push_back(saved.input >= 0 ? all[saved.input] : results[saved.output]);
  second.insert(second.end(), tangents.begin(), tangents.end());
  const auto grads = SymbolicRun(parts.backward, second).outputs();
  auto out = std::vector<uint64_t>(
      results.begin(), results.begin() + std::ranges::count_if(joint.outputs, [](const ir::Output& output) {
                         return output.role != ir::OutputRole::Grad;
                       }));
  out.insert(out.end(), grads.begin(), grads.end());
  return out;
}

void check_saved(const ir::Graph& joint, const Partition& parts) {
  const auto tangents = std::ranges::count(joint.inputs, ir::InputRole::Tangent, &ir::Input::role);
  ASSERT_EQ(parts.backward.inputs.size(), parts.saved.size() + tangents);
  ASSERT_EQ(parts.extra.size(), parts.saved.size());
  const auto classes = classify(joint);
  for (size_t i = 0; i < parts.saved.size(); ++i) {
    const auto& saved = parts.saved[i];
    const auto& type = parts.backward.type_of(parts.backward.inputs[i].value);
    ASSERT_NE(type.tensor(), nullptr);
    ASSERT_EQ(saved.input >= 0, saved.output < 0);
    EXPECT_FALSE(parts.extra[i] && saved.input < 0);
    if (saved.input >= 0) {
      const auto value = joint.inputs[saved.input].value;
      EXPECT_NE(parts.extra[i], classes.values[value].eager_detects_writes);
      EXPECT_EQ(type, joint.type_of(joint.inputs[saved.input].value));
      EXPECT_FALSE(is_mutated(joint, saved.input));
      continue;
    }
    const auto value = parts.forward.outputs.at(saved.output).value;
    EXPECT_EQ(type, parts.forward.type_of(value));
    for (size_t k = 0; k < parts.forward.inputs.size();
         ++k)  // the inputs of the forward graph come first in the joint graph
      EXPECT_FALSE(parts.forward.inputs[k].value == parts.forward.storage_of(value) &&
                   is_mutated(joint, static_cast<int32_t>(k)));
  }
}

int random_nodes(const ir::Graph& graph, bool backward) {
  return static_cast<int>(std::ranges::count_if(graph.nodes, [&](const ir::Node& node) {
    return (node.effects.random || node.effects.ordered) && node.provenance.backward == backward;
  }));
}

void check_effects(const ir::Graph& joint, const Partition& parts) {
  for (const bool backward : {false, true}) {
    EXPECT_EQ(random_nodes(parts.forward, backward), backward ? 0 : random_nodes(joint, false));
    EXPECT_EQ(random_nodes(parts.backward, backward), backward ? random_nodes(joint, true) : 0);
  }
}

void check_graph(ir::Graph graph) {
  ASSERT_NO_THROW(ir::verify(graph));
  const auto values = graph.values;
  auto compacted = graph;
  compacted.compact();
  EXPECT_EQ(values, compacted.values);
  EXPECT_FALSE(passes::dead_code(graph));
  for (const auto& node : graph.nodes)
    for (const auto id : node.outputs) {
      const auto base = graph.values[id].base;
      if (!base.valid()) continue;
      EXPECT_EQ(base, graph.storage_of(*node.args[0].as<ir::ValueId>())) << ir::print(graph, node);
    }
}

void check(const ir::Graph& joint, const Partition& parts) {
  SCOPED_TRACE(ir::print(parts.forward) + ir::print(parts.backward));
  ASSERT_NO_FATAL_FAILURE(check_graph(parts.forward));
  ASSERT_NO_FATAL_FAILURE(check_graph(parts.backward));
  EXPECT_EQ(parts.forward.stage, ir::Stage::Forward);
  EXPECT_EQ(parts.backward.stage, ir::Stage::Backward);
  ASSERT_NO_FATAL_FAILURE(check_saved(joint, parts));
  check_effects(joint, parts);
  for (const auto& input : parts.forward.inputs) EXPECT_NE(input.role, ir::InputRole::Tangent);
  // PAR-05
  for (const auto& node : parts.backward.nodes) EXPECT_TRUE(node.provenance.backward) << node.op;
  ASSERT_EQ(run_both(joint, parts), SymbolicRun(joint, input_hashes(joint)).outputs());
  for (const auto& decision : parts.decisions) EXPECT_FALSE(decision.reason.empty());
  EXPECT_EQ(static_cast<size_t>(std::ranges::count(parts.decisions, true, &Decision::saved)),
            parts.saved.size());
}

TEST(Partition, KeepsMeaningUnderEveryPolicy) {
  int recomputed = 0, copies = 0;
  for (uint32_t seed = 0; seed < kGraphs; ++seed) {
    const auto joint = random_joint(seed, 2 + static_cast<int>(seed % 25));
    ASSERT_NO_THROW(ir::verify(joint)) << ir::print(joint);
    for (const auto& [name, policy] : policies()) {
      SCOPED_TRACE(fmt::format("seed {}, {}\n{}", seed, name, ir::print(joint)));
      const auto parts = partition(joint, policy);
      ASSERT_NO_FATAL_FAILURE(check(joint, parts));
      if (HasFailure()) return;
      recomputed += static_cast<int>(std::ranges::count(parts.decisions, false, &Decision::saved));
      copies += std::ranges::any_of(parts.decisions, [](const Decision& decision) {
        return decision.reason.find("copy") != std::string::npos;
      });
    }
  }
  EXPECT_GT(recomputed, 1000) << "the graphs give the partitioner too little to do";
  EXPECT_GT(copies, 20);
}

/// Plans are made for the likely sizes but are valid for all.
TEST(Partition, KeepsMeaningAtEverySize) {
  for (uint32_t seed = 0; seed < kGraphs; ++seed) {
    const auto joint = random_symbolic_joint(seed, 2 + static_cast<int>(seed % 25));
    ASSERT_NO_THROW(ir::verify(joint)) << ir::print(joint);
    for (const auto& [name, policy] : policies()) {
      SCOPED_TRACE(fmt::format("seed {}, {}\n{}", seed, name, ir::print(joint)));
      const auto parts = partition(joint, policy);
      ASSERT_NO_FATAL_FAILURE(check(joint, parts));
      EXPECT_EQ(parts.forward.symbols, joint.symbols);
      EXPECT_EQ(parts.backward.symbols, joint.symbols);
      for (const std::vector<int64_t>& values : {std::vector<int64_t>{4, 1}, {1, 1}, {1, 70}}) {
        auto at_values = parts;
        at_values.forward = ir::substitute(parts.forward, values);
        at_values.backward = ir::substitute(parts.backward, values);
        ASSERT_NO_FATAL_FAILURE(check(ir::substitute(joint, values), at_values));
      }
      if (HasFailure()) return;
    }
  }
}

/// At the likely sizes, the plan equals the one made for constants.
TEST(Partition, SymbolsCountAsTheirLikelyValues) {
  for (uint32_t seed = 0; seed < kGraphs; ++seed) {
    const auto joint = random_symbolic_joint(seed, 2 + static_cast<int>(seed % 25));
    const auto symbolic = partition(joint), plain = partition(ir::substitute(joint, {4, 1}));
    ASSERT_EQ(symbolic.saved, plain.saved) << ir::print(joint);
    ASSERT_EQ(symbolic.saved_bytes, plain.saved_bytes) << ir::print(joint);
    ASSERT_EQ(symbolic.peak.peak(), plain.peak.peak()) << ir::print(joint);
    ASSERT_EQ(ir::substitute(symbolic.backward, {4, 1}), plain.backward) << ir::print(joint);
  }
}

TEST(Partition, TakesGraphsWithHoles) {
  auto joint = random_joint(7, 20);
  const auto before = partition(joint);
  joint.add_value(ir::contiguous_tensor(ir::DType::F32, {4}));
  const auto after = partition(joint);
  EXPECT_EQ(before.forward, after.forward);
  EXPECT_EQ(before.backward, after.backward);
}

TEST(Partition, DefaultTakesNoMoreMemoryThanEager) {
  for (uint32_t seed = 0; seed < kGraphs; ++seed) {
    const auto joint = random_joint(seed, 5 + static_cast<int>(seed % 60));
    const auto cut = partition(joint, MinCut{}), eager = partition(joint, SaveAll{});
    ASSERT_LE(cut.peak.peak(), eager.peak.peak()) << ir::print(joint);
    ASSERT_LE(cut.saved_bytes, eager.saved_bytes) << ir::print(joint);
  }
}

TEST(Partition, KeepsMeaningUnderRules) {
  const std::vector<std::vector<ScopeRule>> rules = {{{"a", Keep::Recompute}},
                                                     {{"a", Keep::Save}, {"a.b", Keep::Recompute}},
                                                     {{"c", Keep::Save}, {"", Keep::Recompute}}};
  for (uint32_t seed = 0; seed < kGraphs; ++seed) {
    const auto joint = random_joint(seed, 2 + static_cast<int>(seed % 25));
    SCOPED_TRACE(fmt::format("seed {}\n{}", seed, ir::print(joint)));
    for (const auto& [name, policy] : policies()) {
      ASSERT_NO_FATAL_FAILURE(check(joint, partition(joint, policy, rules[seed % rules.size()]))) << name;
      if (HasFailure()) FAIL() << name;
    }
  }
}

/// Bytes alive after node `step` has run: storages defined by then that are read later or kept.
int64_t live_bytes(const ir::Graph& graph, size_t step, const std::vector<int64_t>& at_start) {
  int64_t bytes = 0;
  for (const auto id : graph.values.ids()) {
    if (graph.storage_of(id) != id) continue;
    const auto on_it = [&](ir::ValueId other) { return graph.storage_of(other) == id; };
    bool defined = false, needed = false;
    int64_t size = storage_bytes(graph, id);
    for (size_t i = 0; i < graph.inputs.size(); ++i)
      if (graph.inputs[i].value == id) defined = true, size = at_start[i];
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      const auto& node = graph.nodes[i];
      const bool defines = std::ranges::find(node.outputs, id) != node.outputs.end();
      if (defines && i <= step) defined = true;
      if (i < step) continue;
      ir::for_each_input(node, [&](ir::ValueId read) { needed |= on_it(read); });
      needed |= defines && i == step;
    }
    for (const auto& output : graph.outputs) needed |= output.value.valid() && on_it(output.value);
    if (defined && needed) bytes += size;
  }
  return bytes;
}

TEST(Peak, IsTheMostThatIsAliveAtAnyStep) {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    const auto joint = random_joint(seed, 2 + static_cast<int>(seed % 15));
    for (const auto& [name, policy] : policies()) {
      const auto parts = partition(joint, policy);
      std::vector<int64_t> nothing(parts.forward.inputs.size()), saved;
      for (const auto& input : parts.backward.inputs)
        saved.push_back(storage_bytes(parts.backward, input.value));
      for (size_t i = 0; i < parts.saved.size(); ++i)
        if (parts.saved[i].input >= 0) saved[i] = 0;
      int64_t forward = 0, backward = std::accumulate(saved.begin(), saved.end(), int64_t{0});
      for (size_t i = 0; i < parts.forward.nodes.size(); ++i)
        forward = std::max(forward, live_bytes(parts.forward, i, nothing));
      for (size_t i = 0; i < parts.backward.nodes.size(); ++i)
        backward = std::max(backward, live_bytes(parts.backward, i, saved));
      ASSERT_EQ(parts.peak.forward, forward) << ir::print(parts.forward);
      ASSERT_EQ(parts.peak.backward, backward) << ir::print(parts.backward);
    }
  }
}

}  // namespace
}  // namespace antegrad::partition
