#include "ir/graph.h"

#include <gtest/gtest.h>

#include <cmath>

#include "antegrad/error.h"
#include "graph/random_graph.h"
#include "ir/ops.h"
#include "ir/text.h"

namespace antegrad::ir {
namespace {

TensorType f32(std::vector<Dim> sizes) { return contiguous_tensor(DType::F32, std::move(sizes)); }

Node call(std::string op, std::vector<Arg> args, std::vector<ValueId> outputs) {
  Node node;
  node.op = std::move(op);
  node.args = std::move(args);
  node.outputs = std::move(outputs);
  return node;
}

/// x -> t = relu(x), y = neg(t), with ids out of order and two unused values.
Graph with_holes() {
  Graph graph;
  const ValueId y = graph.add_value(f32({2}));
  graph.add_value(ScalarKind::Int);
  const ValueId t = graph.add_value(f32({2}));
  const ValueId x = graph.add_input(f32({2}), InputRole::UserInput, "x");
  graph.add_value(f32({7}));
  graph.add_node(call("aten.relu", {x}, {t}));
  graph.add_node(call("aten.neg", {Arg::List{t, x}}, {y})).effects.writes = {t};
  graph.outputs.push_back({y, OutputRole::UserOutput, "", -1});
  return graph;
}

TEST(Graph, CompactNumbersInOrderOfDefinition) {
  Graph graph = with_holes();
  graph.compact();
  ASSERT_EQ(graph.values.size(), 3u);
  EXPECT_EQ(graph.inputs[0].value, ValueId{0});
  EXPECT_EQ(graph.nodes[0].args[0], Arg(ValueId{0}));
  EXPECT_EQ(graph.nodes[0].outputs, std::vector<ValueId>{{1}});
  EXPECT_EQ(graph.nodes[1].args[0], Arg(Arg::List{ValueId{1}, ValueId{0}}));
  EXPECT_EQ(graph.nodes[1].effects.writes, std::vector<ValueId>{{1}});
  EXPECT_EQ(graph.outputs[0].value, ValueId{2});
}

TEST(Graph, CompactTwiceIsCompactOnce) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    Graph once = testing::RandomGraph(seed).make();
    once.compact();
    Graph twice = once;
    twice.compact();
    ASSERT_EQ(once.values, twice.values);
    ASSERT_EQ(once.nodes, twice.nodes);
    ASSERT_EQ(once.inputs, twice.inputs);
    ASSERT_EQ(once.outputs, twice.outputs);
  }
}

TEST(Graph, CompactMovesBasesThatAreGone) {
  Graph graph;
  const ValueId gone = graph.add_value(f32({4}));
  const ValueId first = graph.add_value(f32({2}), gone);
  const ValueId second = graph.add_value(f32({2}), gone);
  graph.add_node(call("aten.empty", {}, {first}));
  graph.add_node(call("aten.alias", {first}, {second}));
  graph.compact();
  ASSERT_EQ(graph.values.size(), 2u);
  EXPECT_FALSE(graph.values[{0}].base.valid());
  EXPECT_EQ(graph.values[{1}].base, ValueId{0});
}

TEST(Graph, CompactKeepsValuesThatNothingDefines) {
  Graph graph;
  graph.add_value(f32({1}));
  const ValueId missing = graph.add_value(f32({4}));
  const ValueId out = graph.add_value(f32({4}));
  graph.add_node(call("aten.neg", {missing}, {out}));
  graph.compact();
  ASSERT_EQ(graph.values.size(), 2u);
  EXPECT_EQ(graph.nodes[0].args[0], Arg(ValueId{1}))
      << "a use without a definition stays visible to the verifier";
}

TEST(Graph, EqualityIgnoresNumbersAndHoles) {
  Graph compacted = with_holes();
  compacted.compact();
  EXPECT_EQ(with_holes(), compacted);
}

TEST(Graph, EqualitySeesEveryMember) {
  const Graph original = parse(R"(graph @g joint [s0: 2..9] {
    in %0: f32[s0] user "x"
    %1: f32[s0] &%0 = aten.alias(%0)
    %2: f32[s0] = aten.add.Tensor(%1, 1, alpha=2) random at "m" seq 4
    out %2 mutated 0 "y"
  })");
  const std::vector<std::function<void(Graph&)>> edits = {
      [](Graph& g) { g.name = "h"; },
      [](Graph& g) { g.stage = Stage::Forward; },
      [](Graph& g) { g.symbols[0].range.upper = 8; },
      [](Graph& g) { g.inputs[0].role = InputRole::Param; },
      [](Graph& g) { g.inputs[0].name = "z"; },
      [](Graph& g) { g.values[{1}].base = {}; },
      [](Graph& g) { g.values[{2}].type.tensor()->dtype = DType::F64; },
      [](Graph& g) { g.values[{2}].type.tensor()->offset = 1; },
      [](Graph& g) { g.nodes[1].op = "aten.add.Scalar"; },
      [](Graph& g) { g.nodes[1].args[0] = ValueId{0}; },
      [](Graph& g) { g.nodes[1].args[1] = 1.0; },
      [](Graph& g) { g.nodes[1].attrs[0].value = 3; },
      [](Graph& g) { g.nodes[1].attrs[0].name = "beta"; },
      [](Graph& g) { g.nodes[1].effects.random = false; },
      [](Graph& g) { g.nodes[1].effects.writes = {{0}}; },
      [](Graph& g) { g.nodes[1].functional = true; },
      [](Graph& g) { g.nodes[1].returns = {1}; },
      [](Graph& g) { g.nodes[1].provenance.scope = "n"; },
      [](Graph& g) { g.nodes[1].provenance.sequence = 5; },
      [](Graph& g) { g.nodes[1].provenance.backward = true; },
      [](Graph& g) { g.nodes[1].provenance.roots = 5; },
      [](Graph& g) { g.outputs[0].value = {1}; },
      [](Graph& g) { g.outputs[0].role = OutputRole::Grad; },
      [](Graph& g) { g.outputs[0].target = -1; },
      [](Graph& g) { g.outputs[0].name = ""; },
      [](Graph& g) { g.outputs.clear(); },
      [](Graph& g) { g.nodes.pop_back(); },
  };
  for (size_t i = 0; i < edits.size(); ++i) {
    Graph edited = original;
    edits[i](edited);
    EXPECT_FALSE(edited == original) << "edit " << i;
    EXPECT_NE(print(edited), print(original)) << "edit " << i;
  }
  Graph same = original;
  same.nodes[1].returns = {-1};
  EXPECT_EQ(same, original) << "one plain return is the default";
}

TEST(Graph, ArgumentsCompareByContents) {
  const auto bytes = [](std::vector<uint8_t> data) {
    return std::make_shared<const std::vector<uint8_t>>(data);
  };
  EXPECT_EQ(Arg(bytes({1, 2})), Arg(bytes({1, 2})));
  EXPECT_NE(Arg(bytes({1, 2})), Arg(bytes({1, 3})));
  EXPECT_EQ(Arg(std::make_shared<const Graph>(with_holes())),
            Arg(std::make_shared<const Graph>(with_holes())));
  EXPECT_NE(Arg(std::make_shared<const Graph>(with_holes())), Arg(std::make_shared<const Graph>()));
  EXPECT_EQ(Arg(std::nan("1")), Arg(-std::nan("2")));
  EXPECT_NE(Arg(0.0), Arg(-0.0));
  EXPECT_NE(Arg(std::complex<double>(0, 0.0)), Arg(std::complex<double>(0, -0.0)));
  EXPECT_NE(Arg(true), Arg(1));
}

TEST(Graph, ReplaceUsesReachesEveryRead) {
  Graph graph = parse(R"(graph @g traced {
    in %0: f32[2] user
    in %1: f32[2] user
    %2: f32[2] &%0 = aten.foo(%0, [[%0], %1], other=%0) writes(%0)
    out %0 user
    out none user
  })");
  replace_uses(graph, PerValue<ValueId>(1, {1}));
  EXPECT_EQ(print(graph), R"(graph @g traced {
  in %0: f32[2] user
  in %1: f32[2] user
  %2: f32[2] &%1 = aten.foo(%1, [[%1], %1], other=%1) writes(%1)
  out %1 user
  out none user
}
)");
}

TEST(Graph, ReplaceUsesTakesViewsAlong) {
  Graph graph = parse(R"(graph @g functional {
    in %0: f32[8] user
    %1: f32[4]+3 &%0 = aten.slice.Tensor(%0, 0, 3, 7)
    %2: f32[4] = aten.add.Tensor(%1, %1)
    %3: f32[3]+1 &%2 = aten.slice.Tensor(%2, 0, 1)
    %4: f32[2]+2 &%2 = aten.slice.Tensor(%3, 0, 1)
    %5: f32[]+3 &%2 = aten.select.int(%2, 0, 3)
    out %4 user
    out %5 user
  })");
  PerValue<ValueId> map(graph.values.size());
  map[{2}] = {1};
  replace_uses(graph, map);
  EXPECT_EQ(print(graph), R"(graph @g functional {
  in %0: f32[8] user
  %1: f32[4]+3 &%0 = aten.slice.Tensor(%0, 0, 3, 7)
  %2: f32[4] = aten.add.Tensor(%1, %1)
  %3: f32[3]+4 &%0 = aten.slice.Tensor(%1, 0, 1)
  %4: f32[2]+5 &%0 = aten.slice.Tensor(%3, 0, 1)
  %5: f32[]+6 &%0 = aten.select.int(%1, 0, 3)
  out %4 user
  out %5 user
}
)");
}

TEST(Graph, StorageAndTypes) {
  Graph graph;
  const ValueId x = graph.add_input(f32({2, 3}), InputRole::Param, "x");
  const ValueId view = graph.add_value(f32({6}), x);
  const ValueId number = graph.add_value(ScalarKind::Int);
  EXPECT_EQ(graph.storage_of(view), x);
  EXPECT_EQ(graph.storage_of(x), x);
  EXPECT_EQ(graph.tensor_type(view).sizes, std::vector<Dim>{6});
  try {
    graph.tensor_type(number);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Internal);
    EXPECT_STREQ(error.what(), "[graph] value %2 is no tensor.");
  }
}

TEST(Types, ContiguousStrides) {
  const Dim s0 = Dim::symbol(0);
  EXPECT_EQ(contiguous_strides({2, s0, 4}), (std::vector<Dim>{s0 * Dim(4), 4, 1}));
  EXPECT_EQ(contiguous_strides({3, 0, 5}), (std::vector<Dim>{5, 5, 1})) << "as LibTorch: empty counts as one";
  EXPECT_EQ(contiguous_strides({}), std::vector<Dim>{});
  TensorType type = f32({2, s0});
  EXPECT_TRUE(type.is_contiguous());
  EXPECT_EQ(type.numel(), s0 * Dim(2));
  type.strides = {1, 2};
  EXPECT_FALSE(type.is_contiguous());
}

TEST(Types, NamesOfAllDtypes) {
  for (int i = 0; i <= static_cast<int>(DType::F8E5M2); ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(dtype_from_name(name(dtype)), dtype);
    EXPECT_FALSE(is_floating(dtype) && is_complex(dtype));
  }
  EXPECT_EQ(size_in_bytes(DType::C128), 16);
  EXPECT_EQ(size_in_bytes(DType::BF16), 2);
  EXPECT_FALSE(dtype_from_name("f33"));
}

TEST(Ops, LookupFindsEachRowOnce) {
  for (const auto& row : all_ops()) EXPECT_EQ(find_op(row.name), &row) << row.name;
  EXPECT_GE(all_ops().size(), 250u);
  EXPECT_EQ(find_op("aten.add.Tensor")->kind, OpKind::Pointwise);
  EXPECT_EQ(find_op("aten.add.Tensor")->expression, "a + c * b");
  EXPECT_EQ(find_op("aten.mm")->recompute, Recompute::Expensive);
  EXPECT_EQ(find_op("aten.add"), nullptr);
  EXPECT_EQ(find_op(""), nullptr);
  EXPECT_EQ(find_op("zzz"), nullptr);
}

TEST(Ops, DerivativesAreThoseOfRows) {
  for (const auto* name : {
#define DERIVATIVE(name, course) name,
#include "ir/ops_derivative.def"
#undef DERIVATIVE
       })
    EXPECT_NE(find_op(name), nullptr) << name;
  EXPECT_EQ(derivative("aten.add.Tensor"), Derivative::KeepsNumbers);
  EXPECT_EQ(derivative("aten.pow.Tensor_Scalar"), Derivative::Uniform);
  EXPECT_EQ(derivative("aten.cumsum"), Derivative::Uniform);
  EXPECT_EQ(derivative("aten.sort"), Derivative::Varies);
  EXPECT_EQ(derivative("aten.prod"), Derivative::Varies);
  EXPECT_EQ(derivative("aten.unheard_of"), Derivative::Varies);
}

}  // namespace
}  // namespace antegrad::ir
