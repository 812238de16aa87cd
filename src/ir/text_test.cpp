#include "ir/text.h"

#include <gtest/gtest.h>

#include <cmath>

#include "antegrad/error.h"
#include "graph/random_graph.h"

namespace antegrad::ir {
namespace {

/// Every construct of the language once, as docs/graph-text.md shows them.
constexpr std::string_view kEverything = R"(graph @forward traced [s0: 2..1024, s1: ..8, s2: -1..] {
  in %0: f32[s0,3] user "x"
  in %1: f32[8,3] param "weight"
  in %2: int saved_dim
  in %3: list<optional<f64[2]>> buffer
  %4: f32[3,8]{1,3} &%1 = aten.t(%1)
  %5: f32[s0,8] = aten.mm(%0, %4) at "layer1" seq 3
  aten.add_.Scalar(%5, 1) writes(%5)
  %6: f32[2,8], [%7: f32[1,8], %8: f32[1,8]], [] = aten.some_op(%5, [1, none, %0], 0.5, dim=-1, dtype=f32) random ordered("disk")
  %9: f32[4]{2}+3@cuda:0, %10: bool[] = functional aten.foo_(%6) writes(%6)
  %11: f32[2] = antegrad.constant(data=x"0000803f00000040")
  %12: c64[floor_div(s0+1,2),2*s0*s1]@meta = my.op(2*s0+1, true, complex(1.0, -0.0), "a\n\"b\"\\\xff", cuda, sparse, channels_last, inf, nan)
  %13: f32[2] = antegrad.call(%11, graph @body functional {
    in %0: f32[2] user
    %1: f32[2] = aten.neg(%0)
    out %1 user
  }, [[], [1e+300, -2.0]])
  out %5 user "y"
  out %6 mutated 0
  out %9 grad 1 "weight"
  out none user
}
)";

TEST(Text, EverythingRoundTrips) {
  const Graph graph = parse(kEverything);
  EXPECT_EQ(print(graph), kEverything);
  EXPECT_EQ(parse(print(graph)), graph);
}

TEST(Text, ParsesIntoTheRightData) {
  const Graph graph = parse(kEverything);
  ASSERT_EQ(graph.nodes.size(), 8u);
  EXPECT_EQ(graph.symbols[1].range, (Range{std::numeric_limits<int64_t>::min(), 8}));
  EXPECT_EQ(graph.values[{4}].base, ValueId{1});
  EXPECT_EQ(graph.nodes[1].provenance, (Provenance{"layer1", 3}));
  const Node& some = graph.nodes[3];
  EXPECT_EQ(some.returns, (std::vector<int32_t>{-1, 2, 0}));
  EXPECT_TRUE(some.effects.random && some.effects.ordered);
  EXPECT_EQ(some.effects.resource, "disk");
  EXPECT_EQ(some.args[1], Arg(Arg::List{1, None{}, ValueId{0}}));
  EXPECT_EQ(some.attrs[1], (NamedArg{"dtype", DType::F32}));
  EXPECT_TRUE(graph.nodes[4].functional);
  EXPECT_TRUE(graph.nodes[4].returns.empty());
  EXPECT_EQ(*graph.nodes[5].attrs[0].value.as<Bytes>()->get(),
            (std::vector<uint8_t>{0, 0, 0x80, 0x3f, 0, 0, 0, 0x40}));
  const TensorType& strided = graph.tensor_type({9});
  EXPECT_EQ(strided.strides, std::vector<Dim>{2});
  EXPECT_EQ(strided.offset, Dim(3));
  EXPECT_EQ(strided.device, (Device{Device::Kind::Cuda, 0}));
  EXPECT_EQ(graph.outputs[2].target, 1);
  EXPECT_FALSE(graph.outputs[3].value.valid());
}

TEST(TextProperty, PrintThenParseIsTheIdentity) {
  for (uint64_t seed = 0; seed < 6000; ++seed) {
    const Graph graph = testing::RandomGraph(seed).make();
    const std::string text = print(graph);
    Graph parsed;
    ASSERT_NO_THROW(parsed = parse(text)) << text;
    ASSERT_EQ(parsed, graph) << text;
    ASSERT_EQ(print(parsed), text);
    Graph compacted = graph;
    compacted.compact();
    ASSERT_EQ(print(compacted), text);
  }
}

std::string literal(const Arg& arg) {
  Graph graph;
  Node node;
  node.op = "a.b";
  node.args = {arg};
  const std::string line = print(graph, node);
  return line.substr(4, line.size() - 5);
}

Arg parse_literal(const std::string& text) {
  return parse("graph @g traced { a.b(" + text + ") }").nodes.at(0).args.at(0);
}

TEST(Text, LiteralsKeepTheirKind) {
  const std::pair<Arg, std::string> cases[] = {
      {Arg(1), "1"},
      {Arg(1.0), "1.0"},
      {Arg(-0.0), "-0.0"},
      {Arg(0.1), "0.1"},
      {Arg(1e100), "1e+100"},
      {Arg(5e-324), "5e-324"},
      {Arg(-HUGE_VAL), "-inf"},
      {Arg(std::nan("7")), "nan"},
      {Arg(true), "true"},
      {Arg(DType::Bool), "bool"},
      {Arg(DType::F8E4M3), "f8e4m3"},
      {Arg(std::numeric_limits<int64_t>::min()), "-9223372036854775808"},
      {Arg(Dim::symbol(0) - Dim(1)), "s0-1"},
      {Arg("s0"), "\"s0\""},
      {Arg("\x7f\x1f\xc3 ~"), "\"\\x7f\\x1f\\xc3 ~\""},
      {Arg(Device{}), "cpu"},
      {Arg(Device{Device::Kind::Meta, 2}), "meta:2"},
      {Arg(Layout::Strided), "strided"},
      {Arg(MemoryFormat::Contiguous), "contiguous"},
      {Arg(MemoryFormat::ChannelsLast3d), "channels_last_3d"},
      {Arg(std::complex<double>(0, -1)), "complex(0.0, -1.0)"},
      {Arg(std::make_shared<const std::vector<uint8_t>>()), "x\"\""},
      {Arg(Arg::List{}), "[]"},
      {Arg(None{}), "none"},
  };
  for (const auto& [arg, text] : cases) {
    EXPECT_EQ(literal(arg), text);
    EXPECT_EQ(parse_literal(text), arg) << text;
    EXPECT_EQ(parse_literal(text).v.index(), arg.v.index()) << text;
  }
  EXPECT_NE(Arg(0.0), Arg(-0.0));
  EXPECT_NE(Arg(1.0), Arg(1));
}

TEST(Text, SpacesNumbersAndCommentsAreFree) {
  const Graph graph =
      parse("# first\ngraph@g traced{in%7:f32[ 2 ]user%90:f32[2]=aten.neg(%7)#x\nout%90 user}");
  EXPECT_EQ(print(graph), R"(graph @g traced {
  in %0: f32[2] user
  %1: f32[2] = aten.neg(%0)
  out %1 user
}
)");
}

TEST(Text, OneNodeIsOneLineWithItsOwnIds) {
  Graph graph;
  graph.add_value(ScalarKind::None);
  const ValueId x = graph.add_input(contiguous_tensor(DType::F32, {2}), InputRole::UserInput);
  Node node;
  node.op = "antegrad.call";
  node.args = {x, std::make_shared<const Graph>()};
  node.outputs = {graph.add_value(contiguous_tensor(DType::F32, {2}), x)};
  EXPECT_EQ(print(graph, node), "%2: f32[2] &%1 = antegrad.call(%1, graph @graph traced { })");
}

struct BadText {
  std::string text, message;
};

TEST(Text, ErrorsSayWhereAndWhat) {
  const std::string head = "graph @g traced {\n";
  const BadText cases[] = {
      {"", "line 1, column 1: expected \"graph\", found the end of the text"},
      {"graph @g traces {}", "line 1, column 10: expected a stage, found \"traces\""},
      {head + "in %0: f33[2] user }", "line 2, column 8: expected a type, found \"f33\""},
      {head + "in %0: f32[2] usr }", "line 2, column 15: expected the role of an input, found \"usr\""},
      {head + "in %0: f32[2 user }", "line 2, column 14: expected \"]\", found \"user\""},
      {head + "in %0: int user in %0: int user }", "line 2, column 20: %0 is defined twice"},
      {head + "%0: int = a.b(%0) }", "line 2, column 15: %0 is not defined before its use"},
      {head + "%0: f32[] &%1 = a.b() }", "line 2, column 12: %1 is not defined before its use"},
      {head + "add(1) }", "line 2, column 1: expected the name of an op, found \"add\""},
      {head + "a.b(1, x=2, 3) }", "line 2, column 13: expected a keyword argument, found \"3\""},
      {head + "a.b(foo) }", "line 2, column 5: expected an argument, found \"foo\""},
      {head + "a.b(\"abc) }", "line 2, column 5: expected a closing quote, found the end of the line"},
      {head + "a.b(\"\\q\") }", "line 2, column 5: a string holds an escape other than"},
      {head + "a.b(x\"123\") }", "line 2, column 5: bytes have an odd number of hexadecimal digits"},
      {head + "a.b(x\"zz\") }", "line 2, column 5: bytes hold something else than the digits 0-9 and a-f"},
      {head + "a.b(9223372036854775808) }", "line 2, column 5: an integer does not fit 64 bits"},
      {head + "a.b(1e999) }", "line 2, column 5: a number does not fit a double"},
      {head + "a.b(s99999999999) }", "line 2, column 5: a symbol's index is too large"},
      {head + "a.b(floor_div(s0,0)) }", "line 2, column 5: the dim that begins here is not valid"},
      {head + "a.b(mod(s0)) }", "line 2, column 5: mod takes 2 operands, not 1"},
      {head + "a.b(s0^0) }", "line 2, column 8: expected an exponent from 1 to 1000, found \"0\""},
      {head + "a.b(1) at 3 }", "line 2, column 11: expected a scope, found \"3\""},
      {head + "} }", "line 2, column 3: expected the end of the text, found \"}\""},
      {head + "in %0: f32[] user [%1: int] = functional a.b(%0) writes(%0) }",
       "line 2, column 19: a functional node"},
  };
  for (const auto& [text, message] : cases) {
    try {
      parse(text);
      ADD_FAILURE() << "parsed: " << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::Parse);
      EXPECT_EQ(std::string_view(error.what()).substr(0, 8 + message.size()), "[parse] " + message) << text;
    }
  }
}

void expect_parse_error(const std::string& text, std::string_view part) {
  try {
    parse(text);
    FAIL() << "parsed";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Parse);
    EXPECT_NE(std::string_view(error.what()).find(part), std::string_view::npos) << error.what();
  }
}

std::string repeat(std::string_view text, size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i) out += text;
  return out;
}

TEST(Text, NestingIsLimited) {
  constexpr size_t kDeep = 100000;
  expect_parse_error("graph @g traced { a.b(" + repeat("[", kDeep), "nested more than 64 levels deep");
  expect_parse_error("graph @g traced { a.b(" + repeat("(", kDeep), "nested more than 64 levels deep");
  expect_parse_error("graph @g traced { in %0: " + repeat("list<", kDeep), "nested more than 64 levels deep");
  expect_parse_error("graph @g traced { a.b(" + repeat("max(1,", kDeep), "nested more than 64 levels deep");
  expect_parse_error(repeat("graph @g traced { a.b(", kDeep), "nested more than 64 levels deep");
  expect_parse_error("graph @g traced { a.b(" + repeat("floor_div(", 50) + "s0" + repeat(",s1)", 50),
                     "depth");
  expect_parse_error("graph @g traced { a.b((s0+s1)^900) }", "nodes at depth");
}

TEST(Text, LongTextsParse) {
  std::string text = "graph @g traced {\n  in %0: f32[2] user\n";
  for (int i = 1; i < 20000; ++i)
    text += "  %" + std::to_string(i) + ": f32[2] = aten.neg(%" + std::to_string(i - 1) + ")\n";
  text += "}\n";
  EXPECT_EQ(print(parse(text)), text);
}

}  // namespace
}  // namespace antegrad::ir
