#include "ir/binary.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "antegrad/error.h"
#include "graph/random_graph.h"
#include "graph/stored_bytes.h"

namespace antegrad::ir {
namespace {

std::string key_of(const Graph& graph, GraphParts parts = GraphParts::Key) {
  ByteWriter out;
  write(out, graph, parts);
  return out.take();
}

Graph graph_of(const std::string& bytes) {
  ByteReader in(bytes);
  auto graph = read_graph(in);
  EXPECT_TRUE(in.at_end());
  return graph;
}

/// Also compares the numbering, unlike operator==.
bool same(const Graph& a, const Graph& b) {
  return a.name == b.name && a.stage == b.stage && a.symbols == b.symbols && a.values == b.values &&
         a.inputs == b.inputs && a.nodes == b.nodes && a.outputs == b.outputs;
}

void expect_round_trip(const Graph& graph) {
  const auto bytes = bytes_of(graph);
  const auto back = graph_of(bytes);
  EXPECT_TRUE(same(graph, back)) << print(graph) << print(back);
  EXPECT_EQ(bytes_of(back), bytes);
}

TEST(Binary, RandomGraphsComeBack) {
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    expect_round_trip(testing::RandomGraph(seed).make());
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

TEST(Binary, StoredGraphsComeBack) {
  size_t count = 0;
  for (const auto* folder : {"tests/data", "src/passes/testdata", "src/partition/testdata"})
    for (const auto& graph : graphs_under(folder)) {
      expect_round_trip(graph);
      ++count;
    }
  EXPECT_GT(count, 100U);
}

TEST(Binary, GraphsOfModelsAreSmallerThanTheirText) {
  size_t binary = 0, text = 0;
  for (const auto& graph : graphs_under("tests/data/programs")) {
    binary += bytes_of(graph).size();
    text += print(graph).size();
  }
  EXPECT_LT(binary * 2, text);
}

TEST(Binary, EverythingThatMayBeMissingComesBack) {
  Graph graph;
  Type list, optional;
  list.v = ListType{};
  optional.v = OptionalType{};
  graph.add_value(list);
  graph.add_value(optional, {0});
  Node node;
  node.args = {Bytes(), GraphPtr(), std::string(1000, 'x'), std::string(1000, 'x'), Arg::List{}};
  node.provenance = {"scope", std::numeric_limits<int64_t>::min(), true, ~uint64_t{0}};
  graph.nodes = {node, node};
  expect_round_trip(graph);
  expect_round_trip(Graph());
}

TEST(Binary, EveryNaNIsTheSame) {
  Graph graph;
  graph.nodes.resize(1);
  graph.nodes[0].args = {std::nan("")};
  const auto bytes = bytes_of(graph);
  graph.nodes[0].args = {-std::nan("5")};
  EXPECT_EQ(bytes_of(graph), bytes);
}

Dim random_dim(std::mt19937_64& rng, int depth) {
  if (depth == 0 || rng() % 5 == 0)
    return rng() % 3 == 0 ? Dim(static_cast<int64_t>(rng() % 40) - 9)
                          : Dim::symbol(static_cast<int>(rng() % 3));
  const Dim a = random_dim(rng, depth - 1), b = random_dim(rng, depth - 1);
  switch (rng() % 8) {
    case 0:
      return a - b;
    case 1:
    case 2:
      return a * b;
    case 3:
      return floor_div(a, rng() % 2 == 0 ? Dim(2 + static_cast<int64_t>(rng() % 11)) : b);
    case 4:
      return mod(a, rng() % 2 == 0 ? Dim(2 + static_cast<int64_t>(rng() % 11)) : b);
    case 5:
      return min(a, b);
    case 6:
      return max(a, b);
    default:
      return a + b;
  }
}

TEST(Binary, DimsComeBack) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min(), kMax = std::numeric_limits<int64_t>::max();
  std::vector<Dim> dims = {0, 1, -1, kMin, kMax, kMax / 2, kMax / 2 + 1, kMin / 2, kMin / 2 - 1};
  std::mt19937_64 rng(3);
  while (dims.size() < 8000) try {
      dims.push_back(random_dim(rng, 1 + static_cast<int>(rng() % 5)));
    } catch (const Error&) {  // it divides by zero, or is too large
    }
  ByteWriter out;
  Encoder to(out);
  for (const auto& dim : dims) {
    const auto bytes = bytes_of(dim);
    ByteReader in(bytes);
    EXPECT_EQ(read_dim(in, 3), dim);
    EXPECT_TRUE(in.at_end());
    to.dim(dim);
  }
  ByteReader in(out.bytes());
  Decoder from(in, 3);
  for (const auto& dim : dims) EXPECT_EQ(from.dim(), dim);
  EXPECT_TRUE(in.at_end());
}

TEST(Binary, TypesAndRealsComeBackAlone) {
  const Real real{Real::Form::OverSqrt, 0.5, Dim::symbol(1)};
  const auto bytes = bytes_of(real);
  ByteReader in(bytes);
  const auto back = read_real(in, 2);
  EXPECT_EQ(Arg(back), Arg(real));
  ByteReader again(bytes);
  EXPECT_THROW(read_real(again, 1), Error);
  for (uint64_t seed = 0; seed < 500; ++seed) {
    const auto type = testing::RandomLiterals(seed).type();
    const auto text = bytes_of(type);
    ByteReader from(text);
    EXPECT_EQ(read_type(from, 0), type);
  }
}

TEST(BinaryKey, NamesDoNotCount) {
  const auto graph = parse(kRichGraph);
  auto other = graph;
  other.name = "poor";
  other.inputs[0].name = "v";
  other.outputs[0].name.clear();
  other.nodes[0].provenance.sequence = 77;
  EXPECT_EQ(key_of(other), key_of(graph));
  EXPECT_NE(bytes_of(other), bytes_of(graph));
  other.nodes[0].provenance.scope = "net";
  EXPECT_EQ(key_of(other), key_of(graph));
  EXPECT_NE(key_of(other, {.names = false, .scopes = true}), key_of(graph, {.names = false, .scopes = true}));
}

TEST(BinaryKey, NamesOfNestedGraphsDoNotCountEither) {
  auto inner = parse(kRichGraph), outer = inner;
  outer.nodes[0].args.emplace_back(std::make_shared<const Graph>(inner));
  const auto key = key_of(outer);
  inner.name = "poor";
  outer.nodes[0].args.back() = std::make_shared<const Graph>(inner);
  EXPECT_EQ(key_of(outer), key);
  inner.nodes[0].op = "aten.sub.Tensor";
  outer.nodes[0].args.back() = std::make_shared<const Graph>(inner);
  EXPECT_NE(key_of(outer), key);
}

TEST(BinaryKey, EverythingElseCounts) {
  const std::vector<std::function<void(Graph&)>> edits = {
      [](Graph& g) { g.stage = Stage::Functional; },
      [](Graph& g) { g.symbols[0].range.lower = 2; },
      [](Graph& g) { g.symbols[0].range.upper = 65; },
      [](Graph& g) { g.symbols[0].hint = 8; },
      [](Graph& g) { g.symbols.emplace_back(); },
      [](Graph& g) { g.values[{0}].type.tensor()->dtype = DType::F64; },
      [](Graph& g) { g.values[{0}].type.tensor()->device.index = 0; },
      [](Graph& g) { g.values[{0}].type.tensor()->device.kind = Device::Kind::Cuda; },
      [](Graph& g) { g.values[{0}].type.tensor()->sizes[0] = Dim::symbol(1); },
      [](Graph& g) { g.values[{0}].type.tensor()->strides[0] = 5; },
      [](Graph& g) { g.values[{0}].type.tensor()->offset = 1; },
      [](Graph& g) { g.values[{0}].type = ScalarKind::Int; },
      [](Graph& g) { g.values[{3}].base = {}; },
      [](Graph& g) { g.add_value(ScalarKind::Int); },
      [](Graph& g) { g.inputs[0].role = InputRole::Buffer; },
      [](Graph& g) { g.inputs[0].value = {1}; },
      [](Graph& g) { g.inputs.pop_back(); },
      [](Graph& g) { g.outputs[0].role = OutputRole::IntermediateBase; },
      [](Graph& g) { g.outputs[0].value = {}; },
      [](Graph& g) { g.outputs[1].target = 1; },
      [](Graph& g) { g.outputs.pop_back(); },
      [](Graph& g) { g.nodes[0].op = "aten.sub.Tensor"; },
      [](Graph& g) { g.nodes[0].args[0] = ValueId{1}; },
      [](Graph& g) { g.nodes[0].args[1] = 2.25; },
      [](Graph& g) { g.nodes[0].args.pop_back(); },
      [](Graph& g) { g.nodes[0].attrs[0].name = "beta"; },
      [](Graph& g) { g.nodes[0].attrs[0].value = 4; },
      [](Graph& g) { g.nodes[0].attrs.clear(); },
      [](Graph& g) { g.nodes[0].outputs[0] = {3}; },
      [](Graph& g) { g.nodes[0].returns = {1}; },
      [](Graph& g) { g.nodes[0].effects.random = true; },
      [](Graph& g) { g.nodes[0].effects.ordered = true; },
      [](Graph& g) {
        g.nodes[0].effects.ordered = true;
        g.nodes[0].effects.resource = "disk";
      },
      [](Graph& g) { g.nodes[0].effects.writes = {{0}}; },
      [](Graph& g) { g.nodes[0].functional = true; },
      [](Graph& g) { g.nodes[0].provenance.backward = true; },
      [](Graph& g) { g.nodes[1].provenance.roots = 3; },
      [](Graph& g) { g.nodes[2].args[0] = std::make_shared<const std::vector<uint8_t>>(8, uint8_t{1}); },
      [](Graph& g) { g.nodes[2].args[1] = DType::I32; },
      [](Graph& g) { std::swap(g.nodes[0], g.nodes[2]); },
      [](Graph& g) { g.nodes.pop_back(); },
  };
  std::vector<std::string> keys = {key_of(parse(kRichGraph))};
  for (const auto& edit : edits) {
    auto graph = parse(kRichGraph);
    edit(graph);
    keys.push_back(key_of(graph));
  }
  for (size_t a = 0; a < keys.size(); ++a)
    for (size_t b = 0; b < a; ++b) EXPECT_NE(keys[a], keys[b]) << "edits " << a << " and " << b;
}

TEST(BinaryKey, CanBeRead) {
  const auto graph = parse(kRichGraph);
  const auto back = graph_of(key_of(graph));
  EXPECT_EQ(key_of(back), key_of(graph));
  EXPECT_EQ(back.name, Graph().name);
  EXPECT_EQ(back.inputs[0].name, "");
  EXPECT_EQ(back.nodes[0].provenance.sequence, -1);
}

}  // namespace
}  // namespace antegrad::ir
