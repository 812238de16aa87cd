// How typical kernels are mapped to threads, and their complete CUDA text, in tests/data/source/<name>.cu.
// With ANTEGRAD_UPDATE_GOLDEN=1 in the environment the files are rewritten; review the diff. The prelude is
// not part of them.
#include <gtest/gtest.h>

#include "codegen/cuda/barriers.h"
#include "codegen/cuda/kernel_source.h"
#include "graph/golden.h"
#include "kernels/sample_kernels.h"

namespace antegrad::codegen::cuda {
namespace {

using ir::Dim;
using ir::DType;
using schedule::Combine;
using schedule::Kernel;
namespace samples = schedule::samples;

Kernel for_cuda(Kernel kernel, int32_t symbols = 0) {
  kernel.device = ir::Device::Kind::Cuda;
  kernel.owner = false;
  kernel.symbols = symbols;
  return kernel;
}

/// A softmax of a softmax, and its sums.
Kernel one_block() {
  Kernel whole;
  whole.name = "one_block";
  const auto softmax = samples::softmax(12, 80);
  whole.buffers = {softmax.buffers[0], softmax.buffers[1], softmax.buffers[1], softmax.buffers[1]};
  whole.parts = {{for_cuda(softmax), {0, 1}},
                 {for_cuda(softmax), {1, 2}},
                 {for_cuda(samples::column_sums(12, 80, 1)), {2, 3}}};
  return for_cuda(whole);
}

std::vector<Kernel> cuda_kernels() {
  return {for_cuda(samples::pointwise(1 << 22, DType::BF16)),
          for_cuda(samples::row_reduce(Dim::symbol(0), Dim::symbol(1) * 2, Combine::Sum), 2),
          for_cuda(samples::softmax(65536, 1000)),
          for_cuda(samples::layer_norm(65536, 768, 768)),
          for_cuda(samples::layer_norm_backward(65536, 1024, 1024, 528)),
          for_cuda(samples::column_sums(400000, 6000, 528)),
          for_cuda(samples::full_sum(100000000, 528)),
          for_cuda(samples::middle_softmax(4, 100, 200)),
          for_cuda(samples::gather_rows(Dim::symbol(0), Dim::symbol(1), 64), 2),
          for_cuda(samples::scatter_rows(1000, 50, 64)),
          for_cuda(samples::dropout(1 << 22)),
          one_block()};
}

class CudaSourceGolden : public ::testing::TestWithParam<Kernel> {};

TEST_P(CudaSourceGolden, IsAsInTheFile) {
  const auto path =
      std::filesystem::path(ANTEGRAD_SOURCE_DIR) / "tests/data/source" / (GetParam().name + ".cu");
  const auto text = kernel_source(GetParam(), map_kernel(GetParam(), {}));
  if (updating_golden()) std::ofstream(path, std::ios::binary) << text;
  EXPECT_EQ(text, read_text(path)) << path;
}

INSTANTIATE_TEST_SUITE_P(Kernels, CudaSourceGolden, ::testing::ValuesIn(cuda_kernels()),
                         [](const auto& info) { return info.param.name; });

TEST(CudaMapping, IsTextThatSaysEverything) {
  const auto kernel = for_cuda(samples::softmax(65536, 1024));
  EXPECT_EQ(to_string(map_kernel(kernel, {})),
            "rows: 65536 blocks of 128 threads, 128 per row, vectors of 4, 4 at a time, kept in registers, "
            "64 bytes shared, aligned b0 b1");
  EXPECT_EQ(
      to_string(map_kernel(kernel, {}, false)),
      "rows: 65536 blocks of 128 threads, 128 per row, 4 at a time, kept in registers, 64 bytes shared");
}

TEST(CudaMapping, AsManyThreadsReadALongRowAsCanKeepIt) {
  const auto is_kept = [](int64_t size) {
    return map_kernel(for_cuda(samples::layer_norm(4096, size, static_cast<double>(size))), {}).keep;
  };
  EXPECT_TRUE(is_kept(32768));
  EXPECT_FALSE(is_kept(1 << 20));
}

TEST(CudaMapping, WhatIsNeededAfterAReductionIsLoadedBeforeIt) {
  const auto text = kernel_source(for_cuda(samples::scaled_residual(65536, 256)),
                                  map_kernel(for_cuda(samples::scaled_residual(65536, 256)), {}));
  const auto residual = text.find("&b0["), shuffle = text.find("AG_SHFL_XOR");
  ASSERT_NE(shuffle, std::string::npos) << text;
  EXPECT_LT(residual, shuffle) << text;
  EXPECT_EQ(text.find("&b0[", residual + 1), std::string::npos) << text;
}

TEST(CudaMapping, ThreadsWaitOnlyForWhatOthersMayHaveStored) {
  const auto barriers = [](const Kernel& kernel, bool keep) {
    auto mapping = map_kernel(kernel, {});
    mapping.keep = keep;
    return barriers_before(kernel, plan_kernel(kernel, mapping), mapping);
  };
  // Each thread loads from scratch memory what it has stored itself, and the first reduction waits anyway.
  EXPECT_EQ(barriers(for_cuda(samples::softmax(65536, 1024)), false),
            (std::vector<bool>{false, false, false}));
  // The reversed row was stored by other threads.
  schedule::KernelBuilder b("reversed");
  const auto x = b.input(DType::F32, 64 * 1024), y = b.output(DType::F32, 64 * 1024),
             s = b.scratch(DType::F32, 1024);
  const auto r = b.outer(64), i = b.loop(1024), j = b.loop(1024);
  b.section({i});
  b.store(s, schedule::affine({{i, 1}}), b.load(x, schedule::affine({{r, 1024}, {i, 1}})));
  b.section({j});
  b.store(y, schedule::affine({{r, 1024}, {j, 1}}), b.load(s, schedule::affine({{j, -1}}, 1023)));
  EXPECT_EQ(barriers(for_cuda(b.kernel), false), (std::vector<bool>{false, true}));
}

TEST(CudaMapping, SmallTensorsGetAThreadPerElement) {
  const auto mapping = map_kernel(for_cuda(samples::pointwise(1000)), {});
  EXPECT_EQ(mapping.vector, 1);
  EXPECT_EQ(mapping.blocks, Dim(4));
}

TEST(CudaMapping, PositionsHave64BitsWhereNeeded) {
  EXPECT_FALSE(map_kernel(for_cuda(samples::scale(int64_t{1} << 30)), {}).wide);
  EXPECT_TRUE(map_kernel(for_cuda(samples::scale(int64_t{1} << 31)), {}).wide);
  EXPECT_TRUE(map_kernel(for_cuda(samples::scale(Dim::symbol(0)), 1), {}).wide);
}

TEST(CudaSource, HasNoIncludesAndDependsOnNothingElse) {
  const auto kernel = for_cuda(samples::softmax(64, 768));
  const auto mapping = map_kernel(kernel, {});
  const auto text = unit_source(kernel, mapping);
  EXPECT_EQ(text, unit_source(kernel, mapping));
  EXPECT_EQ(text.find("#include"), std::string::npos);
  EXPECT_NE(text.find("AG_KERNEL("), std::string::npos);
}

}  // namespace
}  // namespace antegrad::codegen::cuda
