#include "compiler/cache/function_cache.h"

#include <gtest/gtest.h>

#include "antegrad/error.h"
#include "cache/directory/explain.h"
#include "cache/format/label.h"
#include "compiler/cache/caches.h"
#include "compiler/cache/sizes_cache.h"
#include "compiler/cache/system_key.h"
#include "fault/cache_faults.h"
#include "graph/stored_bytes.h"
#include "ir/text.h"

namespace antegrad::compiler {
namespace {

constexpr const char* kGraph = R"(graph @f functional {
  in %0: f32[16] user
  %1: f32[16] = aten.sin(%0)
  %2: f32[16] = aten.mul.Tensor(%1, %0)
  out %2 user
})";

const KeyFacts kHere{"2.11 build", "grad mode true\n", ""};

/// A cache in a folder of its own.
class FunctionCacheTest : public ::testing::Test {
 protected:
  FunctionCacheTest() {
    if (own_build().empty()) return;
    configure();
  }
  ~FunctionCacheTest() override {
    cache::Settings none;
    none.local.enabled = false;
    Caches::configure(none);
  }

  void SetUp() override { ASSERT_FALSE(own_build().empty()) << "the test is linked without a build id"; }

  /// Forgets what this process knows of the store.
  void configure() {
    cache::Settings settings;
    settings.local.directory = folder.path();
    Caches::configure(settings);
  }

  PlanSettings settings() { return {options, true, lowering}; }
  FunctionCache open(const KeyFacts& facts = kHere) {
    return FunctionCache::open(settings(), graph, facts_of_graph, facts);
  }
  /// Compiles the graph and stores it.
  void store() {
    const auto plan = make_plan(settings(), graph, facts_of_graph);
    auto program = lowering->program(plan.forward_graph(), false);
    auto kernels = lowering->kernels(program);
    const Lowered code(std::move(program), std::move(kernels));
    open().store(graph, plan, code, 0.5);
    ASSERT_TRUE(Caches::current()->flush(std::chrono::seconds(30)));
  }

  cache::testing::TestFolder folder;
  Options options;
  std::shared_ptr<const Lowering> lowering = std::make_shared<const Lowering>(options);
  ir::Graph graph = ir::parse(kGraph);
  CaptureFacts facts_of_graph;
};

TEST_F(FunctionCacheTest, WhatIsStoredIsLoaded) {
  EXPECT_FALSE(open().load());
  store();
  configure();
  auto found = open();
  ASSERT_TRUE(found.prefetch());
  const auto stored = found.load();
  ASSERT_TRUE(stored);
  EXPECT_EQ(bytes_of(stored->plan), bytes_of(make_plan(settings(), graph, facts_of_graph)));
  ASSERT_EQ(stored->forward->program().kernels.size(), 1U);
  EXPECT_NE(stored->forward->kernels().at(0).code.function, nullptr);
  const auto totals = lowering->cache_log().totals();
  EXPECT_EQ(totals.outcomes.misses, 1U);
  EXPECT_EQ(totals.outcomes.hits, 1U);
  EXPECT_EQ(totals.seconds_saved_forward, 0.5);
}

TEST_F(FunctionCacheTest, AnEntryHasTheDocumentedSections) {
  store();
  const auto key = function_key(settings(), graph, facts_of_graph, kHere);
  const auto loaded = Caches::current()->store()->get({key.digest(), 0});
  ASSERT_EQ(loaded.outcome, cache::Outcome::Hit);
  const auto label = cache::label_of(loaded.entry);
  ASSERT_TRUE(label);
  EXPECT_EQ(label->kind, "function");
  ASSERT_NE(loaded.entry.find(cache::kGraphText), nullptr);
  EXPECT_EQ(*loaded.entry.find(cache::kGraphText), ir::print(graph));
  ASSERT_NE(loaded.entry.find("plan"), nullptr);
  const auto* code = loaded.entry.find("code");
  ASSERT_NE(code, nullptr);
  ByteReader in(*code);
  EXPECT_FALSE(in.flag()) << "there are kernels";
  EXPECT_EQ(in.count(64), 1U);
}

TEST_F(FunctionCacheTest, APlanThatDoesNotEndIsCorrupt) {
  store();
  const auto key = function_key(settings(), graph, facts_of_graph, kHere);
  auto entry = Caches::current()->store()->get({key.digest(), 0}).entry;
  for (auto& section : entry.sections)
    if (section.name == "plan") section.bytes += '\0';
  ASSERT_TRUE(Caches::current()->store()->put({key.digest(), 0}, entry));
  ASSERT_TRUE(Caches::current()->flush(std::chrono::seconds(30)));
  EXPECT_FALSE(open().load());
  EXPECT_EQ(lowering->cache_log().totals().outcomes.corrupt, 1U);
}

TEST_F(FunctionCacheTest, CasesOfTheBackwardPassAreEntriesOfTheirOwn) {
  const auto cache = open();
  EXPECT_EQ(cache.load_backward({true, false}), nullptr);
  cache.store_backward({true, false}, Lowered(graph), 0.25);
  ASSERT_TRUE(Caches::current()->flush(std::chrono::seconds(30)));
  EXPECT_EQ(open().load_backward({false, true}), nullptr);
  const auto code = open().load_backward({true, false});
  ASSERT_NE(code, nullptr);
  EXPECT_TRUE(code->is_eager());
  EXPECT_TRUE(code->program().graph == graph);
}

TEST_F(FunctionCacheTest, StrictNamesTheNearestEntry) {
  store();
  options.cache = Cache::Strict;
  options.cache_tag = "another";
  lowering = std::make_shared<const Lowering>(options);
  try {
    open().load();
    FAIL() << "a miss";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::CacheMiss);
    EXPECT_NE(std::string(error.what()).find("another"), std::string::npos) << error.what();
  }
}

TEST_F(FunctionCacheTest, WhateverCodeDependsOnIsInTheKey) {
  const auto digest = [&](const KeyFacts& facts = kHere) {
    return function_key(settings(), graph, facts_of_graph, facts).digest();
  };
  const auto plain = digest();
  EXPECT_EQ(digest(), plain);
  EXPECT_NE(digest({"2.12 build", kHere.ambient, ""}), plain);
  EXPECT_NE(digest({kHere.libtorch, "grad mode false\n", ""}), plain);
  EXPECT_NE(digest({kHere.libtorch, kHere.ambient, "my::op(Tensor x) -> Tensor"}), plain);
  facts_of_graph.lazy_bits = true;
  EXPECT_NE(digest(), plain);
  facts_of_graph.lazy_bits = false;
  facts_of_graph.reached_by = {{true}};
  EXPECT_NE(digest(), plain);
  facts_of_graph.reached_by.clear();
  options.writable_inputs = true;
  EXPECT_NE(digest(), plain);
  options.writable_inputs = false;
  options.name = "another name";
  EXPECT_EQ(digest(), plain) << "names are for people";
  graph.nodes[1].op = "aten.add.Tensor";
  EXPECT_NE(digest(), plain);
}

TEST_F(FunctionCacheTest, SymbolsThatWereFoundServeOtherSizes) {
  const auto general = ir::parse(R"(graph @f functional [s0: 2.. ~ 16] {
  in %0: f32[s0] user
  %1: f32[s0] = aten.sin(%0)
  %2: f32[s0] = aten.mul.Tensor(%1, %0)
  out %2 user
})");
  const std::vector<symbolic::CallShapes> calls = {{{true, {16}, {1}}}, {{true, {24}, {1}}}};
  const auto shapes = symbolic::generalize(calls, {}, false);
  ASSERT_EQ(shapes.symbols.size(), 1U);
  Generalized found{shapes, general, {}};
  found.graph.symbols = shapes.symbols;
  const auto at24 = ir::parse(R"(graph @f functional {
  in %0: f32[24] user
  %1: f32[24] = aten.sin(%0)
  %2: f32[24] = aten.mul.Tensor(%1, %0)
  out %2 user
})");
  EXPECT_FALSE(find_sizes(settings(), at24, calls[1], kHere).found);
  store_sizes(settings(), found, kHere);
  ASSERT_TRUE(Caches::current()->flush(std::chrono::seconds(30)));
  const auto known = find_sizes(settings(), at24, calls[1], kHere);
  EXPECT_TRUE(known.others);
  ASSERT_TRUE(known.found);
  EXPECT_TRUE(known.found->graph == found.graph);
  EXPECT_FALSE(find_sizes(settings(), at24, {{true, {24}, {2}}}, kHere).found) << "other strides";
}

}  // namespace
}  // namespace antegrad::compiler
