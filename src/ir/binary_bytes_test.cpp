// Bytes that are not a graph, or were altered.
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "antegrad/error.h"
#include "graph/random_graph.h"
#include "graph/stored_bytes.h"
#include "ir/binary.h"
#include "ir/verify.h"

namespace antegrad::ir {
namespace {

Graph graph_of(const std::string& bytes) {
  ByteReader in(bytes);
  auto graph = read_graph(in);
  EXPECT_TRUE(in.at_end());
  return graph;
}

void expect_no_graph(const std::string& bytes, const std::string& why) {
  ByteReader in(bytes);
  try {
    read_graph(in);
    ADD_FAILURE() << "read as a graph";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Io);
    EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
  }
}

TEST(BinaryBytes, NoPartOfAGraphIsAGraph) {
  const auto bytes = bytes_of(parse(kRichGraph));
  for (size_t size = 0; size < bytes.size(); ++size) expect_no_graph(bytes.substr(0, size), "");
}

TEST(BinaryBytes, IndicesOutOfRangeAreRefused) {
  const std::vector<std::function<void(Graph&)>> edits = {
      [](Graph& g) { g.values[{3}].base = {5}; },
      [](Graph& g) { g.inputs[0].value = {5}; },
      [](Graph& g) { g.inputs[0].value = {}; },
      [](Graph& g) { g.outputs[0].value = {5}; },
      [](Graph& g) { g.outputs[0].value = {-2}; },
      [](Graph& g) { g.nodes[0].args[0] = ValueId{5}; },
      [](Graph& g) { g.nodes[0].args[0] = ValueId{}; },
      [](Graph& g) { g.nodes[0].args[0] = Arg::List{ValueId{std::numeric_limits<int32_t>::max()}}; },
      [](Graph& g) { g.nodes[0].outputs[0] = {5}; },
      [](Graph& g) { g.nodes[0].effects.writes = {{5}}; },
  };
  for (const auto& edit : edits) {
    auto graph = parse(kRichGraph);
    edit(graph);
    expect_no_graph(bytes_of(graph), "index ");
  }
}

TEST(BinaryBytes, SymbolsOutOfRangeAreRefused) {
  auto graph = parse(kRichGraph);
  graph.symbols.pop_back();
  expect_no_graph(bytes_of(graph), "a size names symbol s1, there are 1 symbols");
  // A nested graph has its own symbols, even for a dim that the outer graph may contain.
  auto outer = parse(kRichGraph), inner = outer;
  inner.symbols.clear();
  outer.nodes[0].args.emplace_back(std::make_shared<const Graph>(inner));
  expect_no_graph(bytes_of(outer), "there are 0 symbols");
}

TEST(BinaryBytes, UnknownKindsAreRefused) {
  Graph graph;
  graph.stage = static_cast<Stage>(6);
  expect_no_graph(bytes_of(graph), "kind 6 of something that has the kinds 0 to 5");
  graph = parse(kRichGraph);
  graph.values[{0}].type.tensor()->dtype = static_cast<DType>(18);
  expect_no_graph(bytes_of(graph), "kind 18");
  expect_no_graph("\x07", "parts 7");
}

TEST(BinaryBytes, DeepNestingIsRefused) {
  const auto nest = [](int depth) {
    Arg arg;
    for (int i = 0; i < depth; ++i) arg = Arg::List{arg};
    Graph graph;
    graph.nodes.resize(1);
    graph.nodes[0].args = {arg};
    return graph;
  };
  const auto deepest = nest(63);
  EXPECT_EQ(graph_of(bytes_of(deepest)), deepest);
  EXPECT_THROW(bytes_of(nest(64)), Error);
  auto bytes = bytes_of(nest(1));
  std::string list = "\x0e\x01";
  const auto at = bytes.find(list);
  ASSERT_NE(at, std::string::npos);
  for (int i = 0; i < 100000; ++i) list += "\x0e\x01";
  bytes.insert(at, list);
  expect_no_graph(bytes, "deeper than 64");
}

TEST(BinaryBytes, SizesThatAreNoFormAreRefused) {
  const auto refused = [](const std::function<void(ByteWriter&)>& terms) {
    ByteWriter out;
    out.varint(1);  // a new expression
    terms(out);
    ByteReader in(out.bytes());
    EXPECT_THROW(read_dim(in, 9), Error);
  };
  const auto numbers = [&](const std::vector<uint64_t>& list) {
    refused([&](ByteWriter& out) {
      for (const auto number : list) out.varint(number);
    });
  };
  numbers({1, 0, 1, 0, 1, 0});                             // 0 * s0
  numbers({1, 2, 1, 0, 0, 0});                             // s0 ^ 0
  numbers({1, 2, 1, 0, 1001, 0});                          // s0 ^ 1001
  numbers({1, 2, 1, 0, 1, uint64_t{1} << 31});             // s2147483648
  numbers({2, 2, 1, 0, 1, 0, 2, 1, 0, 1, 0});              // s0 + s0
  numbers({2, 2, 0, 2, 1, 0, 1, 0});                       // 1 + s0
  numbers({1, 2, 1, 1, 1, 2, 1, 2, 1, 0, 1, 0, 0});        // floor_div(s0, 0)
  numbers({1, 2, 1, 1, 1, 2, 1, 2, 1, 0, 1, 0, 1, 2, 0});  // floor_div(s0, 1)
  numbers({1, 2, 1, 3, 1, 1, 1, 2, 1, 0, 1, 0});           // min(s0)
  numbers({1, 2, 1, 5, 1, 0});                             // an unknown kind
  numbers({uint64_t{1} << 40});
}

TEST(BinaryBytes, AnyBytesAreAGraphOrAnError) {
  std::vector<std::string> corpus = {bytes_of(parse(kRichGraph))};
  for (uint64_t seed = 0; seed < 300; ++seed) corpus.push_back(bytes_of(testing::RandomGraph(seed).make()));
  ByteMutator mutator(11, std::move(corpus));
  size_t graphs = 0;
  for (int i = 0; i < 100000; ++i) {
    const auto bytes = mutator.next();
    ByteReader in(bytes);
    Graph graph;
    try {
      graph = read_graph(in);
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), ErrorCode::Io) << error.what();
      continue;
    }
    ++graphs;
    const auto again = bytes_of(graph);
    ASSERT_EQ(bytes_of(graph_of(again)), again);
    try {
      verify(graph);
    } catch (const Error&) {  // most violate some rule
    }
  }
  EXPECT_GT(graphs, 5000U);
  EXPECT_LT(graphs, 95000U);
}

}  // namespace
}  // namespace antegrad::ir
