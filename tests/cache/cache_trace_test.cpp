// What a trace records about functions that are compiled, found in the cache, recaptured, or run eagerly.
#include <antegrad/trace.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "cache_fixture.h"
#include "compiler/code/tracing.h"

namespace antegrad::test {
namespace {

using at::Tensor;
using Json = nlohmann::json;
using Tensors = std::vector<Tensor>;

Tensor network(const Tensors& x) {
  const auto h = at::gelu(at::mm(x[0], x[1]) + x[2]);
  return (at::softmax(h, 1) * h.sin() + at::layer_norm(h, {h.size(1)})).pow(2).mean();
}

Tensors network_inputs(int64_t rows = 7) {
  return {torch::randn({rows, 12}), torch::randn({12, 9}), torch::randn({9})};
}

Options named(const char* name) {
  Options options;
  options.name = name;
  return options;
}

class CacheTrace : public CacheTest {
 protected:
  void SetUp() override {
    CacheTest::SetUp();
    trace::start((folder() / "trace").string());
    file_ = trace::file();
    ASSERT_FALSE(file_.empty());
  }
  void TearDown() override {
    trace::stop();
    CacheTest::TearDown();
  }

  std::vector<Json> events(const std::string& kind) const {
    std::vector<Json> out;
    std::ifstream file(file_);
    for (std::string line; std::getline(file, line);)
      if (auto event = Json::parse(line); event["e"] == kind) out.push_back(std::move(event));
    return out;
  }
  static std::set<std::string> all(const std::vector<Json>& events, const char* field) {
    std::set<std::string> out;
    for (const auto& event : events)
      if (event.contains(field)) out.insert(event[field].get<std::string>());
    return out;
  }

  std::string file_;
};

using Names = std::set<std::string>;

TEST_F(CacheTrace, OfATrainingStepHasGraphsDecisionsAndKernels) {
  const auto compiled = compile(network, named("net"));
  for (int step = 0; step < 3; ++step) train(compiled, network_inputs());
  trace::stop();

  ASSERT_FALSE(events("function").empty());
  EXPECT_EQ(events("function")[0]["name"], "net");
  ASSERT_EQ(events("version").size(), 1u);
  const auto version = events("version")[0];
  EXPECT_EQ(version["v"], 1);
  EXPECT_EQ(version["f"], events("function")[0]["f"]);
  EXPECT_EQ(version["eager"], false);
  EXPECT_NE(version["guards"][0].get<std::string>().find("Float [7, 12]"), std::string::npos) << version;

  EXPECT_EQ(all(events("graph"), "which"), (Names{"captured", "optimised", "forward", "backward"}));
  for (const auto& graph : events("graph"))
    if (graph["which"] == "forward") {
      EXPECT_EQ(graph["text"], compiled.forward_graph());
    }
  ASSERT_EQ(events("partition").size(), 1u);
  const auto decisions = events("partition")[0]["decisions"];
  ASSERT_FALSE(decisions.empty());
  EXPECT_FALSE(decisions[0]["reason"].get<std::string>().empty());

  ASSERT_EQ(events("program").size(), 2u);
  EXPECT_EQ(all(events("program"), "pass"), (Names{"forward", "backward"}));
  std::set<std::string> scheduled, made;
  for (const auto& program : events("program"))
    for (const auto& kernel : program["kernels"]) {
      scheduled.insert(kernel["name"].get<std::string>());
      EXPECT_NE(kernel["source"].get<std::string>().find("for"), std::string::npos);
      EXPECT_FALSE(kernel["text"].get<std::string>().empty());
    }
  for (const auto& kernel : events("kernel")) made.insert(kernel["name"].get<std::string>());
  EXPECT_FALSE(scheduled.empty());
  EXPECT_EQ(made, scheduled);
}

TEST_F(CacheTrace, OfATrainingStepHasMemoryTimesAndSpans) {
  const auto compiled = compile(network, named("net"));
  for (int step = 0; step < 3; ++step) train(compiled, network_inputs());
  trace::stop();

  ASSERT_EQ(events("eager_memory").size(), 1u);
  const auto eager = events("eager_memory")[0];
  EXPECT_EQ(eager["forward"].size(), eager["forward_labels"].size());
  EXPECT_FALSE(eager["backward"].empty());
  ASSERT_EQ(events("memory").size(), 2u) << "forward and backward";
  for (const auto& memory : events("memory")) {
    ASSERT_EQ(memory["bytes"].size(), memory["labels"].size());
    ASSERT_FALSE(memory["bytes"].empty());
    int64_t most = 0;
    for (const auto& bytes : memory["bytes"]) most = std::max(most, bytes.get<int64_t>());
    EXPECT_GE(most, memory["arena_bytes"].get<int64_t>());
  }

  const auto times = events("times");
  ASSERT_EQ(times.size(), 6u) << "after each of the first three runs of two passes";
  EXPECT_EQ(times.back()["runs"], 3);
  EXPECT_EQ(times.back()["us"].size(), times.back()["steps"].size());

  const auto spans = all(events("begin"), "name");
  for (const char* name : {"make a version", "capture", "functionalize", "passes", "pass", "partition",
                           "schedule", "kernels", "make a backward pass", "look up"})
    EXPECT_EQ(spans.count(name), 1u) << name;
  EXPECT_EQ(events("begin").size(), events("end").size());
}

TEST_F(CacheTrace, OfAFunctionFromTheCacheSaysSoAndStillHasKernels) {
  const auto inputs = network_inputs();
  train(compile(network, named("first")), inputs);
  ASSERT_TRUE(flush_cache());
  trace::start((folder() / "again").string());
  file_ = trace::file();
  train(compile(network, named("first")), inputs);
  trace::stop();
  EXPECT_EQ(all(events("cache"), "outcome"), (Names{"hit"}));
  EXPECT_EQ(events("cache").size(), 2u);
  ASSERT_EQ(events("program").size(), 2u);
  EXPECT_FALSE(events("program")[0]["kernels"].empty());
  EXPECT_EQ(all(events("begin"), "name").count("compile kernels"), 0u);
}

TEST_F(CacheTrace, OfARecaptureSaysWhy) {
  const auto compiled = compile(network, named("net"));
  train(compiled, network_inputs(7));
  train(compiled, network_inputs(8));
  trace::stop();
  const auto versions = events("version");
  ASSERT_EQ(versions.size(), 2u);
  EXPECT_EQ(versions[0]["reason"], "");
  EXPECT_EQ(versions[1]["reason"], compiled.report().recapture_reasons.at(0));
  EXPECT_EQ(versions[1]["v"], 2);
  EXPECT_EQ(versions[1]["dynamic"], true);
  EXPECT_FALSE(versions[1]["sizes"].get<std::string>().empty());
}

TEST_F(CacheTrace, OfAnEagerCallIsAWarning) {
  auto options = named("reads <data>");
  options.unsupported = Unsupported::Eager;
  const auto compiled = compile([](const Tensor& x) { return x * x.sum().item<double>(); }, options);
  compiled(torch::randn({3}));
  trace::stop();
  const auto warnings = events("warning");
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0]["kind"], "eager");
  EXPECT_EQ(warnings[0]["text"], compiled.report().eager_reasons.at(0));
  ASSERT_EQ(events("version").size(), 1u);
  EXPECT_EQ(events("version")[0]["eager"], true);
  EXPECT_EQ(events("version")[0]["name"], "reads <data>");
}

TEST_F(CacheTrace, OfACallThatIsRefusedHasItsError) {
  const auto compiled = compile([](const Tensor& x) { return x * x.sum().item<float>(); }, named("net"));
  EXPECT_THROW(compiled(torch::ones({3})), Error);
  trace::stop();
  const auto warnings = events("warning");
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0]["kind"], "error");
  EXPECT_NE(warnings[0]["text"].get<std::string>().find("[capture:aten._local_scalar_dense]"),
            std::string::npos);
  EXPECT_EQ(events("closed").size(), 1u);
}

TEST_F(CacheTrace, ThatCannotBeWrittenChangesNothing) {
  std::ofstream(folder() / "file") << "x";
  trace::start((folder() / "file" / "trace").string());
  EXPECT_EQ(trace::file(), "");
  ASSERT_FALSE(trace::problems().empty());
  const auto inputs = network_inputs();
  expect_same(train(network, inputs), train(compile(network), inputs));
}

TEST_F(CacheTrace, LeavesContentsOfLargeConstantsOut) {
  const std::string digits(200, 'a');
  EXPECT_EQ(compiler::without_long_constants("x\"" + digits + "\") x\"00ff\""),
            "x\"" + digits.substr(0, 64) + "… 100 bytes\") x\"00ff\"");
  EXPECT_EQ(compiler::without_long_constants("in %0: f32[4] user \"x\""), "in %0: f32[4] user \"x\"");
}

}  // namespace
}  // namespace antegrad::test
