#include "ir/verify.h"

#include <gtest/gtest.h>

#include <functional>

#include "antegrad/error.h"
#include "ir/text.h"

namespace antegrad::ir {
namespace {

constexpr std::string_view kGood = R"(graph @g functional [s0: 2..9] {
  in %0: f32[s0] user "x"
  in %1: f32[4] param
  %2: f32[s0] &%0 = aten.alias(%0)
  %3: f32[s0], [%4: f32[2], %5: f32[2]] = aten.foo(%2, [s0, %1], dim=1)
  %6: f32[s0] = functional aten.add_.Tensor(%3, 1) writes(%3)
  out %6 user
  out %6 mutated 0
}
)";

using Edit = std::function<void(Graph&)>;

std::string failure(const Graph& graph) {
  try {
    verify(graph);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Verify);
    return error.what();
  }
  return "";
}

/// Breaks a valid graph, and expects a message that starts with "[verify:stage] fact." and marks the line.
void expect_fact(const Edit& edit, const std::string& fact, const std::string& marked) {
  Graph graph = parse(kGood);
  edit(graph);
  const std::string text = failure(graph);
  const std::string start = "[verify:" + std::string(name(graph.stage)) + "] " + fact + ".";
  EXPECT_EQ(text.substr(0, start.size()), start);
  EXPECT_NE(text.find("\n  > " + marked), std::string::npos) << text;
}

TEST(Verify, GoodGraphsPass) {
  EXPECT_EQ(failure(parse(kGood)), "");
  EXPECT_EQ(failure(Graph{}), "");
  EXPECT_EQ(failure(parse(R"(graph @j joint {
    in %0: f32[] user
    in %1: f32[] tangent
    out %0 user
    out %1 grad 0
  })")),
            "");
  EXPECT_EQ(
      failure(parse("graph @f forward { in %0: f32[] user in %1: int user out %0 saved out %1 saved_dim }")),
      "");
  EXPECT_EQ(failure(parse("graph @b backward { in %0: f32[] saved in %1: f32[] tangent out %1 grad 7 }")),
            "");
  EXPECT_EQ(failure(parse("graph @t traced { in %0: f32[] user aten.neg_(%0) writes(%0) out %0 user }")), "");
}

TEST(Verify, MessageShowsTheLinesAround) {
  Graph graph = parse(kGood);
  graph.nodes[1].args[0] = ValueId{6};
  EXPECT_EQ(failure(graph),
            "[verify:functional] value %6 is used before it is defined. See the line marked > of\n"
            "    in %1: f32[4] param\n"
            "    %2: f32[s0] &%0 = aten.alias(%0)\n"
            "  > %3: f32[s0], [%4: f32[2], %5: f32[2]] = aten.foo(%6, [s0, %1], dim=1)\n"
            "    %6: f32[s0] = functional aten.add_.Tensor(%3, 1) writes(%3)\n"
            "    out %6 user\n"
            "  in graph @g.");
}

TEST(Verify, Ids) {
  expect_fact([](Graph& g) { g.nodes[0].args[0] = ValueId{7}; }, "value %7 is out of range, the graph has 7",
              "%2:");
  expect_fact([](Graph& g) { g.nodes[0].args[0] = ValueId{}; }, "value %-1 is out of range, the graph has 7",
              "%2:");
  expect_fact([](Graph& g) { g.nodes[0].outputs[0] = {9}; }, "value %9 is out of range, the graph has 7",
              "%9: ?");
  expect_fact([](Graph& g) { g.inputs[1].value = {9}; }, "value %9 is out of range, the graph has 7",
              "in %9: ?");
  expect_fact([](Graph& g) { g.outputs[0].value = {9}; }, "value %9 is out of range, the graph has 7",
              "out %9");
  expect_fact([](Graph& g) { g.nodes[2].effects.writes = {{9}}; },
              "value %9 is out of range, the graph has 7", "%6:");
}

TEST(Verify, DefinedOnceBeforeUse) {
  expect_fact([](Graph& g) { std::swap(g.nodes[0], g.nodes[1]); }, "value %2 is used before it is defined",
              "%3:");
  expect_fact([](Graph& g) { g.nodes[1].args[1] = Arg::List{ValueId{5}}; },
              "value %5 is used before it is defined", "%3:");
  expect_fact([](Graph& g) { g.nodes[1].attrs[0].value = ValueId{6}; },
              "value %6 is used before it is defined", "%3:");
  expect_fact([](Graph& g) { g.nodes[2].outputs[0] = {3}; }, "value %3 is defined twice",
              "%3: f32[s0] = functional");
  expect_fact([](Graph& g) { g.inputs[1].value = {0}; }, "value %0 is defined twice", "in %0: f32[s0] param");
  expect_fact([](Graph& g) { g.nodes.pop_back(); }, "value %6 is used before it is defined", "out %6 user");
}

/// A backward graph in which a sum was replaced by a summand, %1, without moving the view of the sum along.
constexpr std::string_view kForgottenView = R"(graph @b backward {
  in %0: f32[3,4] tangent
  %1: f32[3,4] = aten.cos(%0)
  %2: f32[4,3]{1,4} = aten.t(%1)
  %3: f32[3,4] = aten.sin(%0)
  %4: f32[4,4] = aten.mm(%2, %3)
  out %4 grad 0
})";

TEST(Verify, AViewIsOnTheMemoryOfWhatItViews) {
  const auto graph = parse(kForgottenView);
  EXPECT_TRUE(failure(graph).starts_with(
      "[verify:backward] value %2 is a view of %1 by aten.t and is not on its memory, &%1."))
      << failure(graph);
  auto right = graph;
  right.values[{2}].base = {1};
  EXPECT_EQ(failure(right), "");
  auto elsewhere = graph;
  elsewhere.values[{2}].base = {0};
  EXPECT_TRUE(failure(elsewhere).starts_with(
      "[verify:backward] value %2 is on the memory of %0, which its node does not reach."))
      << failure(elsewhere);
  auto shifted = right;
  shifted.values[{2}].type.tensor()->offset = 2;
  EXPECT_TRUE(failure(shifted).starts_with(
      "[verify:backward] value %2 is a view of %1 by aten.t and begins at 2 instead of 0."))
      << failure(shifted);
}

TEST(Verify, MemoryIsSharedWithWhatANodeReaches) {
  expect_fact(
      [](Graph& g) {
        g.values[{3}].base = {1};
        g.nodes[1].args.pop_back();
      },
      "value %3 is on the memory of %1, which its node does not reach", "%3:");
  expect_fact([](Graph& g) { g.values[{2}].base = {}; },
              "value %2 is a view of %0 by aten.alias and is not on its memory, &%0", "%2:");
}

TEST(Verify, AReshapeMayCopy) {
  EXPECT_EQ(
      failure(parse("graph @f functional { in %0: f32[2,3]{1,2} user %1: f32[6] = aten.reshape(%0, [6]) "
                    "out %1 user }")),
      "");
}

TEST(Verify, Bases) {
  expect_fact([](Graph& g) { g.values[{2}].base = {70}; },
              "the base %70 of value %2 is out of range, the graph has 7", "%2:");
  expect_fact([](Graph& g) { g.values[{2}].base = {3}; }, "the base %3 of value %2 is not defined before it",
              "%2:");
  expect_fact([](Graph& g) { g.values[{2}].base = {2}; }, "the base %2 of value %2 is not defined before it",
              "%2:");
  expect_fact([](Graph& g) { g.values[{3}].base = {2}; }, "the base %2 of value %3 has a base itself", "%3:");
  expect_fact(
      [](Graph& g) {
        g.values[{2}].type.tensor()->device = {Device::Kind::Cuda, 0};
      },
      "value %2 is on cuda:0, its base %0 on cpu", "%2: f32[s0]@cuda:0");
  expect_fact([](Graph& g) { g.values[{2}].type = ScalarKind::Int; },
              "value %2 and its base %0 are not both tensors", "%2: int");
}

TEST(Verify, Types) {
  expect_fact([](Graph& g) { g.values[{1}].type.tensor()->strides = {}; },
              "a tensor type has 1 sizes and 0 strides", "in %1:");
  expect_fact([](Graph& g) { g.values[{1}].type.tensor()->sizes = {-4}; }, "a tensor has the size -4",
              "in %1:");
  expect_fact(
      [](Graph& g) {
        Type list;
        list.v = ListType{};
        g.values[{1}].type = list;
      },
      "a list or optional type has no element type", "in %1:");
}

TEST(Verify, Symbols) {
  const Dim s1 = Dim::symbol(1);
  expect_fact([&](Graph& g) { g.values[{1}].type.tensor()->sizes = {s1 + Dim(1)}; },
              "s1+1 names symbol s1, the graph declares 1 symbols", "in %1:");
  expect_fact([&](Graph& g) { g.values[{1}].type.tensor()->strides = {s1}; },
              "s1 names symbol s1, the graph declares 1 symbols", "in %1:");
  expect_fact([&](Graph& g) { g.values[{1}].type.tensor()->offset = s1; },
              "s1 names symbol s1, the graph declares 1 symbols", "in %1:");
  expect_fact([&](Graph& g) { g.nodes[1].args[1] = Arg::List{s1}; },
              "s1 names symbol s1, the graph declares 1 symbols", "%3:");
  expect_fact(
      [](Graph& g) {
        g.symbols[0].range = {3, 2};
      },
      "symbol s0 has the empty range 3..2", "graph @g functional");
}

TEST(Verify, Returns) {
  expect_fact(
      [](Graph& g) {
        g.nodes[1].returns = {-1, 1};
      },
      "the returns hold 2 values, the node has 3 outputs of its own", "%3:");
  expect_fact([](Graph& g) { g.nodes[1].returns = {-2, 3}; }, "a return of -2 outputs", "%3:");
  expect_fact([](Graph& g) { g.nodes[2].returns = {-1}; },
              "the returns hold 1 values, the node has 0 outputs of its own", "%6:");
  expect_fact([](Graph& g) { g.nodes[2].outputs.clear(); },
              "a functional node writes 1 values and has 0 outputs", "functional aten.add_.Tensor");
}

TEST(Verify, Effects) {
  expect_fact([](Graph& g) { g.nodes[2].functional = false; },
              "a functional graph writes only in functional nodes", "%6:");
  expect_fact([](Graph& g) { g.stage = Stage::Traced; }, "a traced graph has no functional nodes", "%6:");
  expect_fact([](Graph& g) { g.nodes[0].effects.resource = "disk"; },
              "\"disk\" is the resource of a node that is not ordered", "%2:");
  expect_fact([](Graph& g) { g.values[{3}].type = ScalarKind::Float; },
              "value %3 is written and is no tensor", "%6:");
}

TEST(Verify, OpAndArgumentNames) {
  for (const std::string op :
       {"add", "", "aten.", ".add", "aten..add", "aten.add()", "9aten.add", "aten::add"})
    expect_fact([&](Graph& g) { g.nodes[0].op = op; },
                "\"" + op + "\" is no op name of the form namespace.name.overload", "%2:");
  expect_fact([](Graph& g) { g.nodes[1].attrs[0].name = "a b"; }, "\"a b\" is no name of a keyword argument",
              "%3:");
  expect_fact([](Graph& g) { g.nodes[1].attrs.push_back(g.nodes[1].attrs[0]); },
              "keyword argument dim is given twice", "%3:");
}

TEST(Verify, NullContents) {
  expect_fact([](Graph& g) { g.nodes[1].args[1] = Bytes(); }, "an argument is bytes without contents", "%3:");
  expect_fact([](Graph& g) { g.nodes[1].args[1] = GraphPtr(); }, "an argument is a graph without contents",
              "%3:");
}

TEST(Verify, NestedGraphsAreVerified) {
  Graph graph = parse(kGood);
  Graph inner = parse("graph @inner joint { in %0: f32[] user %1: f32[] = aten.neg(%0) out %1 user }");
  inner.outputs[0].value = {8};
  graph.nodes[1].args[1] = std::make_shared<const Graph>(inner);
  const std::string text = failure(graph);
  EXPECT_EQ(text.substr(0, text.find('.')), "[verify:joint] value %8 is out of range, the graph has 2");
  EXPECT_NE(text.find("in graph @inner."), std::string::npos);
}

TEST(Verify, Targets) {
  expect_fact([](Graph& g) { g.outputs[0].target = 0; }, "an output with the role user has no target",
              "out %6 user 0");
  expect_fact([](Graph& g) { g.outputs[1].target = 2; },
              "the target 2 is no index of an input, the graph has 2", "out %6 mutated 2");
  expect_fact([](Graph& g) { g.outputs[1].target = -1; },
              "the target -1 is no index of an input, the graph has 2", "out %6 mutated");
}

TEST(Verify, RolesFitTheStage) {
  const auto with_input = [](InputRole role, Stage stage) {
    Graph graph;
    graph.stage = stage;
    graph.add_input(contiguous_tensor(DType::F32, {}), role);
    return failure(graph);
  };
  const auto with_output = [](OutputRole role, Stage stage) {
    Graph graph;
    graph.stage = stage;
    const ValueId x = graph.add_input(contiguous_tensor(DType::F32, {}), InputRole::UserInput);
    graph.outputs.push_back({x, role, "", role == OutputRole::Grad ? 0 : -1});
    return failure(graph);
  };
  for (int i = 0; i <= static_cast<int>(Stage::Lowered); ++i) {
    const auto stage = static_cast<Stage>(i);
    const bool lowered = stage == Stage::Lowered;  // of a forward or a backward graph
    const bool has_grads = stage != Stage::Functional && stage != Stage::Forward;
    const std::string where = "[verify:" + std::string(name(stage)) + "] ";
    const auto expect = [&](const std::string& text, bool legal, const std::string& fact) {
      EXPECT_EQ(text.substr(0, text.find('.')), legal ? "" : where + fact);
    };
    const auto a_graph = "a " + std::string(name(stage)) + " graph has no ";
    expect(with_input(InputRole::Tangent, stage), has_grads, a_graph + "tangents");
    expect(with_output(OutputRole::Grad, stage), has_grads, a_graph + "gradients");
    for (const auto role : {InputRole::SavedTensor, InputRole::SavedDim})
      expect(with_input(role, stage), stage == Stage::Backward || lowered,
             "a saved value is an input of backward graphs only");
    for (const auto role : {OutputRole::SavedTensor, OutputRole::SavedDim})
      expect(with_output(role, stage), stage == Stage::Forward || lowered,
             "a saved value is an output of forward graphs only");
    expect(with_input(InputRole::Param, stage), true, "");
    expect(with_output(OutputRole::UserOutput, stage), true, "");
  }
}

TEST(Verify, LongLinesAreCut) {
  Graph graph = parse(kGood);
  graph.nodes[0].args[0] = std::make_shared<const std::vector<uint8_t>>(1000000);
  graph.nodes[1].args[0] = ValueId{6};
  EXPECT_LT(failure(graph).size(), 1000u);
}

}  // namespace
}  // namespace antegrad::ir
