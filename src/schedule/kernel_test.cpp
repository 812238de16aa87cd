#include "schedule/kernel.h"

#include <gtest/gtest.h>

#include "antegrad/error.h"
#include "kernels/sample_kernels.h"

namespace antegrad::schedule {
namespace {

using ir::Dim;
using ir::DType;

TEST(Kernel, UnitsAreIterationsOfTheOuterLoops) {
  EXPECT_EQ(units(samples::softmax(30, 7)), Dim(30));
  EXPECT_EQ(units(samples::softmax(Dim::symbol(0), 7)), Dim::symbol(0));
}

TEST(Kernel, UnitsWithoutOuterLoopsAreThoseOfTheOnlyLoops) {
  EXPECT_EQ(units(samples::pointwise(1000)), Dim(1000));
  EXPECT_EQ(divided_section(samples::pointwise(1000)), 0);
  KernelBuilder b("once");
  b.section();
  b.store(b.output(DType::F32, 1), affine({}), b.constant(DType::F32, 1.0));
  EXPECT_EQ(units(b.kernel), Dim(1));
  EXPECT_EQ(divided_section(b.kernel), -1);
}

TEST(Kernel, ReductionsAreNotDivided) {
  KernelBuilder b("sum");
  const auto x = b.input(DType::F32, 9);
  const auto i = b.loop(9);
  b.section({i});
  b.reduce(Combine::Sum, b.load(x, affine({{i, 1}})));
  EXPECT_EQ(divided_section(b.kernel), -1);
  EXPECT_EQ(units(b.kernel), Dim(1));
}

TEST(Kernel, UnitsOfLanesAreStrips) {
  EXPECT_EQ(units(samples::middle_softmax(3, 5, 64)), Dim(3));
  EXPECT_EQ(units(samples::middle_softmax(3, 5, 65)), Dim(6));
  EXPECT_EQ(units(samples::middle_softmax(3, 5, 0)), Dim(0));
}

TEST(Kernel, UnitsOfChunksAreChunks) {
  const auto kernel = samples::column_sums(100, 7, 4);
  EXPECT_EQ(units(kernel), Dim(4));
  EXPECT_EQ(units_of_all_chunks(kernel), Dim(100));
  EXPECT_EQ(accumulators(kernel, kernel.sections[0].ops[1]), Dim(7));
  const auto sum = samples::full_sum(100, 4);
  EXPECT_EQ(accumulators(sum, sum.sections[0].ops[1]), Dim(1));
}

TEST(Kernel, UnitsOfOwnersArePositions) {
  EXPECT_EQ(units(samples::scatter_rows(100, 9, 7)), Dim(9));
  Kernel kernel;
  kernel.owner = true;
  EXPECT_THROW(units(kernel), Error);
}

TEST(Kernel, ComputesInFloatWhatIsNarrower) {
  EXPECT_EQ(compute_type(DType::BF16), DType::F32);
  EXPECT_EQ(compute_type(DType::F16), DType::F32);
  EXPECT_EQ(compute_type(DType::I8), DType::I8);
}

TEST(Kernel, CoefficientOfALoopThatIsNotThere) {
  const auto address = affine({{1, 4}, {3, 1}}, 5);
  EXPECT_EQ(address.coefficient(1), Dim(4));
  EXPECT_EQ(address.coefficient(2), Dim(0));
}

TEST(Kernel, HasAText) {
  EXPECT_EQ(to_string(samples::scatter_rows(Dim::symbol(0), 9, 7)), R"(kernel scatter_rows
  b0: in f32[7*s0]
  b1: in i64[s0]
  b2: out f32[63]
  for i0 < s0; by owner; clear b2 by 7
  section i1 < 7
    v0: i64 = load b1[0 + 1*i0]
    v1: f32 = load b0[0 + 7*i0 + 1*i1]
    scatter sum b2[0 + 1*i1 + 7*wrap(v0 < 9)] (v1)
)");
  const auto text = to_string(samples::softmax(4, 8));
  EXPECT_NE(text.find("v1: f32 = reduce max (v0)  # %1 = amax(%0, [1])"), std::string::npos) << text;
  EXPECT_NE(text.find("v3: f32 = exp(a - b) (v2, v1) in f32"), std::string::npos) << text;
}

}  // namespace
}  // namespace antegrad::schedule
