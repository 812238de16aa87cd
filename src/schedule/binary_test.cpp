#include "schedule/binary.h"

#include <gtest/gtest.h>

#include <functional>

#include "antegrad/error.h"
#include "graph/random_program.h"
#include "graph/stored_bytes.h"
#include "kernels/random_symbolic.h"
#include "kernels/sample_kernels.h"
#include "schedule/substitute.h"

namespace antegrad::schedule {
namespace {

Program read(const std::string& bytes) {
  ByteReader in(bytes);
  auto out = read_program(in);
  EXPECT_TRUE(in.at_end());
  return out;
}

Program program_of(const ir::Graph& graph, bool fuse = true) {
  Settings settings;
  settings.fuse = fuse;
  settings.supports = [](std::string_view, ir::DType) { return true; };
  return schedule(graph, settings);
}

Program example() { return program_of(RandomSymbolic(4).make()); }

bool same(const Step& a, const Step& b) {
  if (a.index() != b.index()) return false;
  if (const auto* call = std::get_if<RunNode>(&a)) return call->node == std::get<RunNode>(b).node;
  const auto &x = std::get<RunKernel>(a), &y = std::get<RunKernel>(b);
  return x.kernel == y.kernel && x.buffers == y.buffers && x.units == y.units && x.grain == y.grain;
}

void expect_round_trip(const Program& program) {
  const auto bytes = bytes_of(program);
  const auto back = read(bytes);
  EXPECT_TRUE(back.graph == program.graph);
  EXPECT_EQ(back.kernels, program.kernels);
  EXPECT_TRUE(std::ranges::equal(back.steps, program.steps, same));
  EXPECT_TRUE(std::ranges::equal(back.decisions, program.decisions, [](const Decision& a, const Decision& b) {
    return a.nodes == b.nodes && a.what == b.what && a.why == b.why;
  }));
  EXPECT_EQ(bytes_of(back), bytes);
  for (const auto& kernel : program.kernels) {
    const auto alone = bytes_of(kernel);
    ByteReader in(alone);
    EXPECT_EQ(read_kernel(in), kernel);
    EXPECT_TRUE(in.at_end());
  }
}

TEST(ProgramBinary, ProgramsOfStoredGraphsComeBack) {
  size_t kernels = 0;
  for (const auto& graph : graphs_under("tests/data/programs"))
    for (const bool fuse : {true, false}) {
      const auto program = program_of(graph, fuse);
      expect_round_trip(program);
      kernels += program.kernels.size();
    }
  EXPECT_GT(kernels, 20U);
}

TEST(ProgramBinary, ProgramsOfRandomGraphsComeBack) {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    const auto program = program_of(RandomSymbolic(seed).make(), seed % 4 != 0);
    expect_round_trip(program);
    expect_round_trip(substitute(program, {3, 40}));
    expect_round_trip(program_of(passes::random_symbolic_program(seed, 20)));
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

TEST(KernelBinary, KernelsOfEveryKindComeBack) {
  const auto n = ir::Dim::symbol(0) * 3 + 1;
  std::vector<Kernel> kernels = {samples::pointwise(n),
                                 samples::softmax(n, 7),
                                 samples::layer_norm_backward(8, n, 5, 4),
                                 samples::full_sum(n, 3),
                                 samples::middle_softmax(2, n, 3),
                                 samples::gather_rows(5, n, 4),
                                 samples::scatter_rows(5, n, 4),
                                 samples::dropout(n)};
  Kernel whole;
  whole.buffers = {kernels[1].buffers[0], kernels[1].buffers[1]};
  whole.parts = {{kernels[1], {0, 1}}, {kernels[1], {1, 0}}};
  kernels.push_back(whole);
  for (auto& kernel : kernels) {
    kernel.symbols = 1;
    for (auto& part : kernel.parts) part.kernel.symbols = 1;
    const auto bytes = bytes_of(kernel);
    ByteReader in(bytes);
    EXPECT_EQ(read_kernel(in), kernel) << to_string(kernel);
    EXPECT_TRUE(in.at_end());
  }
}

TEST(KernelBinary, PartsThatDoNotFitAreRefused) {
  const auto softmax = samples::softmax(3, 4);
  const auto refused = [&](std::vector<KernelPart> parts) {
    Kernel whole;
    whole.buffers = {softmax.buffers[0], softmax.buffers[1]};
    whole.parts = std::move(parts);
    const auto bytes = bytes_of(whole);
    ByteReader in(bytes);
    EXPECT_THROW(read_kernel(in), Error);
  };
  refused({{softmax, {0, 2}}});
  refused({{softmax, {0}}});
  Kernel nested;
  nested.buffers = {softmax.buffers[0], softmax.buffers[1]};
  nested.parts = {{softmax, {0, 1}}};
  refused({{nested, {0, 1}}});
}

TEST(ProgramBinary, IndicesOutOfRangeAreRefused) {
  const auto good = example();
  const auto step = std::ranges::find_if(
      good.steps, [](const Step& one) { return std::holds_alternative<RunKernel>(one); });
  ASSERT_NE(step, good.steps.end());
  const size_t at = step - good.steps.begin();
  const auto run = [at](Program& p) -> RunKernel& { return std::get<RunKernel>(p.steps[at]); };
  const auto op = [](Program& p) -> Op& { return p.kernels[0].sections[0].ops.back(); };
  const std::vector<std::function<void(Program&)>> edits = {
      [&](Program& p) { run(p).kernel = static_cast<int32_t>(p.kernels.size()); },
      [&](Program& p) { run(p).kernel = -1; },
      [&](Program& p) { run(p).buffers[0].index = static_cast<int32_t>(p.graph.values.size()); },
      [&](Program& p) { run(p).buffers[0] = {}; },
      [&](Program& p) { run(p).buffers.pop_back(); },
      [&](Program& p) { run(p).units = ir::Dim::symbol(2); },
      [&](Program& p) { p.steps[at] = RunNode{ir::NodeId::at(p.graph.nodes.size())}; },
      [&](Program& p) { p.decisions[0].nodes = {static_cast<int32_t>(p.graph.nodes.size())}; },
      [&](Program& p) { p.kernels[0].symbols = 3; },
      [&](Program& p) { p.kernels[0].symbols = -1; },
      [&](Program& p) { p.kernels[0].loops.emplace_back(ir::Dim::symbol(2)); },
      [&](Program& p) { p.kernels[0].outer.push_back(static_cast<int32_t>(p.kernels[0].loops.size())); },
      [&](Program& p) { p.kernels[0].lane = static_cast<int32_t>(p.kernels[0].loops.size()); },
      [&](Program& p) { p.kernels[0].buffers[0].spill = static_cast<int32_t>(p.kernels[0].buffers.size()); },
      [&](Program& p) {
        p.kernels[0].clear = {{1000, 1}};
      },
      [&](Program& p) { p.kernels[0].sections[0].loops.push_back(1000); },
      [&](Program& p) { op(p).buffer = 1000; },
      [&](Program& p) { op(p).args = {1000}; },
      [&](Program& p) { op(p).result = 1000; },
      [&](Program& p) { op(p).result = p.kernels[0].sections[0].ops[0].result; },
      [&](Program& p) {
        op(p).address.terms = {{1000, 1}};
      },
      [&](Program& p) { op(p).indirect = {{.index = 1000, .stride = 1, .size = 1}}; },
      [&](Program& p) { op(p).code = static_cast<OpCode>(10); },
      [&](Program& p) { op(p).number = ir::Dim::symbol(2); },
  };
  for (size_t i = 0; i < edits.size(); ++i) {
    auto program = good;
    edits[i](program);
    EXPECT_THROW(read(bytes_of(program)), Error) << "edit " << i;
  }
}

TEST(ProgramBinary, AnyBytesAreAProgramOrAnError) {
  std::vector<std::string> corpus;
  for (uint64_t seed = 0; seed < 20; ++seed)
    corpus.push_back(bytes_of(program_of(RandomSymbolic(seed).make())));
  ByteMutator mutator(7, std::move(corpus));
  for (int i = 0; i < 10000; ++i) {
    const auto bytes = mutator.next();
    ByteReader in(bytes);
    try {
      const auto again = bytes_of(read_program(in));
      EXPECT_EQ(bytes_of(read(again)), again);
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), ErrorCode::Io) << error.what();
    }
  }
}

}  // namespace
}  // namespace antegrad::schedule
