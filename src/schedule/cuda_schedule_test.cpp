// Tensors on CUDA devices: which nodes become kernels, and what is passed by value.
#include <gtest/gtest.h>

#include <algorithm>

#include "ir/text.h"
#include "schedule/program.h"

namespace antegrad::schedule {
namespace {

Program cuda_program(const std::string& body, std::optional<Target> target = cuda_target({}),
                     const std::string& symbols = "", bool fuse = true) {
  Settings settings;
  settings.fuse = fuse;
  settings.supports = [](std::string_view, ir::DType) { return true; };
  settings.cuda = std::move(target);
  return schedule(ir::parse("graph @g functional " + symbols + "{\n" + body + "}\n"), settings);
}

std::string reason(const Program& program) {
  for (const auto& decision : program.decisions)
    if (!decision.why.empty()) return decision.why;
  return {};
}

constexpr const char* kAddOnBoth = R"(
  in %0: f32[64,32]@cuda:0 user
  in %1: f32[64,32] user
  %2: f32[64,32]@cuda:0 = aten.exp(%0)
  %3: f32[64,32] = aten.exp(%1)
  out %2 user
  out %3 user
)";

TEST(CudaSchedule, EachDeviceHasKernelsOfItsOwn) {
  const auto program = cuda_program(kAddOnBoth);
  ASSERT_EQ(program.kernels.size(), 2U);
  EXPECT_EQ(std::ranges::count(program.kernels, ir::Device::Kind::Cuda, &Kernel::device), 1);
}

TEST(CudaSchedule, WithoutATargetLibTorchRunsWhatIsOnADevice) {
  const auto program = cuda_program(kAddOnBoth, std::nullopt);
  EXPECT_EQ(program.kernels.size(), 1U);
  EXPECT_EQ(reason(program), "there is no generated code for cuda:0");
}

TEST(CudaSchedule, DevicesOfOneKindAreNotMixed) {
  const auto program = cuda_program(R"(
  in %0: f32[64]@cuda:0 user
  in %1: f32[64]@cuda:1 user
  %2: f32[64]@cuda:0 = aten.exp(%0)
  %3: f32[64]@cuda:1 = aten.exp(%1)
  out %2 user
  out %3 user
)");
  EXPECT_EQ(program.steps.size(), 2U);
}

TEST(CudaSchedule, NumbersOnTheHostArePassedByValue) {
  const auto program = cuda_program(R"(
  in %0: f32[64]@cuda:0 user
  in %1: f64[] user
  %2: f32[64]@cuda:0 = aten.mul.Tensor(%0, %1)
  out %2 user
)");
  ASSERT_EQ(program.kernels.size(), 1U);
  EXPECT_EQ(std::ranges::count(program.kernels[0].buffers, true, &Buffer::host), 1);
}

TEST(CudaSchedule, CopiesBetweenDevicesAreLibTorchs) {
  const auto program = cuda_program(R"(
  in %0: f32[64]@cuda:0 user
  %1: f32[64] = aten._to_copy(%0)
  out %1 user
)");
  EXPECT_EQ(program.kernels.size(), 0U);
  EXPECT_EQ(reason(program), "its tensors are on different devices");
}

constexpr const char* kScatter = R"(
  in %0: f32[10,4]@cuda:0 user
  in %1: i64[6]@cuda:0 user
  in %2: f32[6,4]@cuda:0 user
  %3: f32[10,4]@cuda:0 = aten.index_put(%0, [%1], %2, true)
  out %3 user
)";

TEST(CudaSchedule, ScattersUseAtomicsUnlessTheOrderMatters) {
  const auto program = cuda_program(kScatter);
  ASSERT_EQ(program.kernels.size(), 2U);  // a copy and the scatter
  EXPECT_FALSE(program.kernels[1].owner);
  const auto ordered = cuda_program(kScatter, cuda_target({}, true));
  EXPECT_EQ(ordered.kernels.size(), 0U);
  EXPECT_EQ(reason(ordered), "atomics would add in any order");
}

TEST(CudaSchedule, ChunksFillTheDevice) {
  const auto program = cuda_program(R"(
  in %0: f32[65536,1024]@cuda:0 user
  %1: f32[1024]@cuda:0 = aten.sum.dim_IntList(%0, [0])
  out %1 user
)");
  ASSERT_EQ(program.kernels.size(), 2U);
  EXPECT_EQ(program.kernels[0].chunks, ir::Dim(2 * 132));
  DeviceFacts small;
  small.multiprocessors = 10;
  const auto other = cuda_program(R"(
  in %0: f32[65536,1024]@cuda:0 user
  %1: f32[1024]@cuda:0 = aten.sum.dim_IntList(%0, [0])
  out %1 user
)",
                                  cuda_target(small));
  EXPECT_EQ(other.kernels[0].chunks, ir::Dim(20));
}

/// Two results of one input, and on the CPU the same.
std::string two_readers(const std::string& device) {
  const auto type = "f32[4096,64]" + device;
  return "in %0: " + type + " user\nin %1: " + type + " user\n%2: " + type +
         " = aten.mul.Tensor(%0, %1)\n%3: " + type + " = aten.exp(%0)\nout %2 user\nout %3 user\n";
}

TEST(CudaSchedule, KernelsThatReadTheSameInputAreOne) {
  EXPECT_EQ(cuda_program(two_readers("@cuda:0")).kernels.size(), 1U);
  EXPECT_EQ(cuda_program(two_readers("")).kernels.size(), 2U);
}

TEST(CudaSchedule, OtherSizesDoNotJoinReadersOfTheSameInput) {
  const auto program = cuda_program(R"(
  in %0: f32[64]@cuda:0 user
  in %1: f32[100,64]@cuda:0 user
  %2: f32[100,64]@cuda:0 = aten.mul.Tensor(%1, %0)
  %3: f32[64]@cuda:0 = aten.exp(%0)
  out %2 user
  out %3 user
)");
  ASSERT_EQ(program.kernels.size(), 1U);
  EXPECT_EQ(program.kernels[0].parts.size(), 2U);
}

TEST(CudaSchedule, SumsOfTheSameSizesAreFinishedByOneKernel) {
  const auto program = cuda_program(R"(
  in %0: f32[65536,1024]@cuda:0 user
  in %1: f32[65536,1024]@cuda:0 user
  %2: f32[65536,1024]@cuda:0 = aten.mul.Tensor(%0, %1)
  %3: f32[1024]@cuda:0 = aten.sum.dim_IntList(%2, [0])
  %4: f32[1024]@cuda:0 = aten.sum.dim_IntList(%0, [0])
  out %3 user
  out %4 user
)");
  EXPECT_EQ(program.kernels.size(), 2U);
}

/// Sums of rows that depend on sums of columns, which one kernel cannot compute.
std::string rows_after_columns(const std::string& rows, const std::string& columns) {
  const auto matrix = "f32[" + rows + "," + columns + "]@cuda:0", row = "f32[" + columns + "]@cuda:0";
  return "in %0: " + matrix + " user\n%1: " + row + " = aten.sum.dim_IntList(%0, [0])\n%2: " + matrix +
         " = aten.div.Tensor(%0, %1)\n%3: f32[" + rows + "]@cuda:0 = aten.sum.dim_IntList(%2, [1])\n" +
         "out %1 user\nout %3 user\n";
}

TEST(SmallKernels, ThatFollowEachOtherAreOne) {
  const auto program = cuda_program(rows_after_columns("8", "16"));
  ASSERT_EQ(program.kernels.size(), 1U);
  const auto& whole = program.kernels[0];
  EXPECT_GE(whole.parts.size(), 2U) << to_string(whole);
  EXPECT_TRUE(whole.sections.empty());
  ASSERT_EQ(program.steps.size(), 1U);
  const auto& step = std::get<RunKernel>(program.steps[0]);
  ASSERT_EQ(step.buffers.size(), whole.buffers.size());
  for (size_t b = 0; b < step.buffers.size(); ++b)
    EXPECT_EQ(whole.buffers[b].kind, step.buffers[b].index == 0 ? Buffer::Kind::Input : Buffer::Kind::Output)
        << "what a part writes is an output, also if another reads it";
  for (const auto& part : whole.parts) {
    ASSERT_EQ(part.buffers.size(), part.kernel.buffers.size());
    for (size_t b = 0; b < part.buffers.size(); ++b)
      EXPECT_EQ(part.kernel.buffers[b].dtype, whole.buffers[static_cast<size_t>(part.buffers[b])].dtype);
  }
  for (const auto& decision : program.decisions)
    EXPECT_NE(decision.what.find("a part of " + whole.name), std::string::npos) << decision.what;
}

TEST(SmallKernels, AreAloneWithoutFusion) {
  for (const auto& kernel : cuda_program(rows_after_columns("8", "16"), cuda_target({}), "", false).kernels)
    EXPECT_TRUE(kernel.parts.empty());
}

TEST(SmallKernels, DoNotIncludeLargeOnes) {
  for (const auto& kernel : cuda_program(rows_after_columns("2048", "512")).kernels)
    EXPECT_TRUE(kernel.parts.empty()) << to_string(kernel);
}

TEST(SmallKernels, HaveKnownSizes) {
  const auto program = cuda_program(rows_after_columns("s0", "16"), cuda_target({}), "[s0: 2..1000] ");
  EXPECT_GE(program.kernels.size(), 2U);
  for (const auto& kernel : program.kernels) EXPECT_TRUE(kernel.parts.empty()) << to_string(kernel);
}

TEST(SmallKernels, CheckNoIndices) {
  const auto program = cuda_program(R"(
  in %0: f32[10,4]@cuda:0 user
  in %1: i64[6]@cuda:0 user
  in %2: f32[8,16]@cuda:0 user
  %3: f32[6,4]@cuda:0 = aten.embedding(%0, %1)
  %4: f32[16]@cuda:0 = aten.sum.dim_IntList(%2, [0])
  %5: f32[8,16]@cuda:0 = aten.div.Tensor(%2, %4)
  %6: f32[8]@cuda:0 = aten.sum.dim_IntList(%5, [1])
  out %3 user
  out %6 user
)");
  ASSERT_EQ(program.kernels.size(), 2U);
  EXPECT_EQ(
      std::ranges::count(program.kernels, true, [](const Kernel& kernel) { return kernel.parts.empty(); }),
      1);
}

TEST(SmallKernels, AreNotJoinedAcrossWhatLibTorchRuns) {
  const auto program = cuda_program(R"(
  in %0: f32[8,16]@cuda:0 user
  %1: f32[8,16]@cuda:0 = aten.exp(%0)
  %2: f32[8,16]@cuda:0, %3: i64[8,16]@cuda:0 = aten.sort(%1, -1, false)
  %4: f32[8,16]@cuda:0 = aten.exp(%2)
  out %4 user
)");
  ASSERT_EQ(program.steps.size(), 3U);
  for (const auto& kernel : program.kernels) EXPECT_TRUE(kernel.parts.empty());
}

TEST(SmallKernels, OfDifferentDevicesAreNotOne) {
  const auto program = cuda_program(R"(
  in %0: f32[64]@cuda:0 user
  in %1: f32[32]@cuda:1 user
  %2: f32[64]@cuda:0 = aten.exp(%0)
  %3: f32[32]@cuda:1 = aten.exp(%1)
  out %2 user
  out %3 user
)");
  EXPECT_EQ(program.steps.size(), 2U);
}

}  // namespace
}  // namespace antegrad::schedule
