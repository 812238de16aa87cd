// Graphs with symbols are scheduled and compiled once and run at many sizes; each time they compute the same
// as the graph with these sizes as constants.
#include <algorithm>

#include "kernels/compiled_program.h"

namespace antegrad::schedule {
namespace {

struct Sample {
  const char* name;
  const char* symbols;
  const char* body;
};

std::ostream& operator<<(std::ostream& out, const Sample& sample) { return out << sample.name; }

const Sample kSamples[] = {
    {"pointwise", "s0: 1..", R"(
  in %0: f32[s0,24] user
  in %1: f32[24] user
  in %2: f32[s0,1] user
  %3: f32[s0,24] = aten.mul.Tensor(%0, %1)
  %4: f32[s0,24] = aten.add.Tensor(%3, %2)
  %5: f32[s0,24] = aten.tanh(%4)
  out %5 user
)"},
    {"numbers_of_sizes", "s0: 1..", R"(
  in %0: f32[s0,5] user
  in %1: i64[s0] user
  in %2: bf16[s0] user
  in %3: f64[s0] user
  %4: f32[s0,5] = aten.div.Scalar(%0, s0)
  %5: f32[s0,5] = aten.mul.Scalar(%4, over_sqrt(3.0, 2*s0+1))
  %6: f32[s0,5] = aten.add.Scalar(%5, times_sqrt(0.1, s0))
  %7: f32[s0,5] = aten.mul.Scalar(%6, over(0.3, s0))
  %8: i64[s0] = aten.add.Scalar(%1, s0-3)
  %9: i64[s0] = aten.remainder.Scalar(%8, s0)
  %10: bool[s0] = aten.lt.Scalar(%1, floor_div(s0,4))
  %11: bf16[s0] = aten.mul.Scalar(%2, times(0.7, s0))
  %12: f64[s0] = aten.mul.Scalar(%3, over(1.0, mod(s0,5)+1))
  %13: f64[] = antegrad.constant(value=over(1.0, s0))
  %14: f64[s0] = aten.mul.Tensor(%12, %13)
  %15: i64[] = antegrad.constant(value=s0*3)
  %16: i64[s0] = aten.add.Tensor(%9, %15)
  out %7 user
  out %16 user
  out %10 user
  out %11 user
  out %14 user
)"},
    {"layer_norm", "s0: 1.., s1: 1..", R"(
  in %0: f32[s0,s1] user
  in %1: f32[s1] user
  in %2: f32[s1] user
  %3: f32[s0,1] = aten.sum.dim_IntList(%0, [1], true)
  %4: f32[s0,1] = aten.mul.Scalar(%3, over(1.0, s1))
  %5: f32[s0,s1] = aten.sub.Tensor(%0, %4)
  %6: f32[s0,s1] = aten.mul.Tensor(%5, %5)
  %7: f32[s0,1] = aten.sum.dim_IntList(%6, [1], true)
  %8: f32[s0,1] = aten.mul.Scalar(%7, over(1.0, s1))
  %9: f32[s0,1] = aten.add.Scalar(%8, 1e-5)
  %10: f32[s0,1] = aten.rsqrt(%9)
  %11: f32[s0,s1] = aten.mul.Tensor(%5, %10)
  %12: f32[s0,s1] = aten.mul.Tensor(%11, %1)
  %13: f32[s0,s1] = aten.add.Tensor(%12, %2)
  out %13 user
  out %4 user
  out %10 user
)"},
    {"layer_norm_backward", "s0: 1.. ~ 4096, s1: 1.. ~ 256", R"(
  in %0: f32[s0,s1] user
  in %1: f32[s0,s1] user
  in %2: f32[s1] user
  in %3: f32[s0,1] user
  in %4: f32[s0,1] user
  %5: f32[s0,s1] = aten.sub.Tensor(%0, %3)
  %6: f32[s0,s1] = aten.mul.Tensor(%5, %4)
  %7: f32[s0,s1] = aten.mul.Tensor(%1, %2)
  %8: f32[s0,1] = aten.sum.dim_IntList(%7, [1], true)
  %9: f32[s0,s1] = aten.mul.Tensor(%7, %6)
  %10: f32[s0,1] = aten.sum.dim_IntList(%9, [1], true)
  %11: f32[s0,s1] = aten.mul.Scalar(%7, s1)
  %12: f32[s0,s1] = aten.sub.Tensor(%11, %8)
  %13: f32[s0,s1] = aten.mul.Tensor(%6, %10)
  %14: f32[s0,s1] = aten.sub.Tensor(%12, %13)
  %15: f32[s0,1] = aten.mul.Scalar(%4, over(1.0, s1))
  %16: f32[s0,s1] = aten.mul.Tensor(%14, %15)
  %17: f32[s0,s1] = aten.mul.Tensor(%1, %6)
  %18: f32[s1] = aten.sum.dim_IntList(%17, [0])
  %19: f32[s1] = aten.sum.dim_IntList(%1, [0])
  out %16 user
  out %18 user
  out %19 user
)"},
    {"softmax", "s0: 1.., s1: 1.. ~ 200", R"(
  in %0: f32[s0,s1] user
  %1: f32[s0,1] = aten.amax(%0, [1], true)
  %2: f32[s0,s1] = aten.sub.Tensor(%0, %1)
  %3: f32[s0,s1] = aten.exp(%2)
  %4: f32[s0,1] = aten.sum.dim_IntList(%3, [1], true)
  %5: f32[s0,s1] = aten.div.Tensor(%3, %4)
  out %5 user
)"},
    {"short_softmax", "s0: 1.. ~ 1000, s1: 1..100 ~ 7", R"(
  in %0: f32[s0,s1] user
  %1: f32[s0,1] = aten.amax(%0, [1], true)
  %2: f32[s0,s1] = aten.sub.Tensor(%0, %1)
  %3: f32[s0,s1] = aten.exp(%2)
  %4: f32[s0,1] = aten.sum.dim_IntList(%3, [1], true)
  %5: f32[s0,s1] = aten.div.Tensor(%3, %4)
  out %5 user
)"},
    {"middle_softmax", "s0: 1.., s1: 1..", R"(
  in %0: f32[s0,6,s1] user
  %1: f32[s0,1,s1] = aten.amax(%0, [1], true)
  %2: f32[s0,6,s1] = aten.sub.Tensor(%0, %1)
  %3: f32[s0,6,s1] = aten.exp(%2)
  %4: f32[s0,1,s1] = aten.sum.dim_IntList(%3, [1], true)
  %5: f32[s0,6,s1] = aten.div.Tensor(%3, %4)
  out %5 user
)"},
    {"softmax_backward_of_products", "s0: 1.., s1: 1..", R"(
  in %0: f32[s0,4,s1,s1] user
  in %1: f32[s0,4,s1,s1] user
  %2: f32[s0,4,s1,s1] = aten.mul.Tensor(%0, %1)
  %3: f32[s0,4,s1,1] = aten.sum.dim_IntList(%2, [-1], true)
  %4: f32[s0,4,s1,s1] = aten.mul.Tensor(%1, %3)
  %5: f32[s0,4,s1,s1] = aten.sub.Tensor(%2, %4)
  %6: f32[s0,4,s1,s1] = aten.mul.Scalar(%5, 0.125)
  out %6 user
)"},
    {"column_sums", "s0: 1.. ~ 5000, s1: 1.. ~ 40", R"(
  in %0: f32[s0,s1] user
  %1: f32[s0,s1] = aten.exp(%0)
  %2: f32[s1] = aten.sum.dim_IntList(%1, [0])
  %3: f32[s0,1] = aten.sum.dim_IntList(%1, [1], true)
  %4: f32[s0,s1] = aten.div.Tensor(%1, %3)
  out %2 user
  out %4 user
)"},
    {"sums_of_a_conv_bias", "s0: 1.., s1: 1..", R"(
  in %0: f32[s0,5,s1] user
  %1: f32[5] = aten.sum.dim_IntList(%0, [0, 2])
  %2: f32[1,5,1] = aten.sum.dim_IntList(%0, [0, 2], true)
  %3: f32[s0,5,s1] = aten.sub.Tensor(%0, %2)
  out %1 user
  out %3 user
)"},
    {"mean_of_all", "s0: 1.., s1: 1..", R"(
  in %0: f32[s0,s1] user
  in %1: f32[s0,s1] user
  %2: f32[s0,s1] = aten.sub.Tensor(%0, %1)
  %3: f32[s0,s1] = aten.mul.Tensor(%2, %2)
  %4: f32[] = aten.sum(%3)
  %5: f32[] = aten.mul.Scalar(%4, over(1.0, s0*s1))
  %6: f32[s0,s1] = aten.mul.Tensor(%2, %5)
  out %5 user
  out %6 user
)"},
    {"mean_of_many", "s0: 1.. ~ 100000", R"(
  in %0: f32[s0] user
  %1: f32[s0] = aten.abs(%0)
  %2: f32[] = aten.sum(%1)
  %3: f32[] = aten.mul.Scalar(%2, over(1.0, s0))
  out %3 user
  out %1 user
)"},
    {"minima_and_logic", "s0: 1.., s1: 1..", R"(
  in %0: f32[s0,s1] user
  in %1: i64[s1,s0] user
  %2: f32[s0] = aten.amin(%0, [1])
  %3: bool[s0,s1] = aten.gt.Scalar(%0, 1.5)
  %4: bool[s1] = aten.any.dim(%3, 0)
  %5: i64[s0] = aten.sum.dim_IntList(%1, [0])
  %6: f32[s0,s1] = aten.clamp(%0, none, 0.5)
  %7: f32[s0] = aten.prod.dim_int(%6, 1)
  out %2 user
  out %7 user
  out %4 user
  out %5 user
)"},
    {"cat", "s0: 1.., s1: 1..", R"(
  in %0: f32[s0,3] user
  in %1: f32[s1,3] user
  in %2: f32[s0,s1-1] user
  %3: f32[s0,3] = aten.exp(%0)
  %4: f32[s0+s1,3] = aten.cat([%3, %1])
  %5: f32[s0+s1,3] = aten.neg(%4)
  %6: f32[s0,s1+2] = aten.cat([%0, %2], 1)
  %7: f32[s0,s1+2] = aten.mul.Tensor(%6, %6)
  out %5 user
  out %7 user
)"},
    {"pad", "s0: 1.., s1: 1..", R"(
  in %0: f32[s0,s1] user
  %1: f32[s0,s1] = aten.exp(%0)
  %2: f32[s0+mod(3*s0,4),s1+3] = aten.constant_pad_nd(%1, [1, 2, 0, mod(3*s0,4)], 0.5)
  %3: f32[s0+mod(3*s0,4),s1+3] = aten.mul.Scalar(%2, 2.0)
  out %3 user
)"},
    {"slices", "s0: 1.., s1: 1..", R"(
  in %0: f32[s0,s1+1] user
  %1: f32[s0,s1+1] = aten.exp(%0)
  %2: f32[s0,s1]{s1+1,1}+1 &%1 = aten.slice.Tensor(%1, 1, 1, 9223372036854775807)
  %3: f32[s0,s1]{s1+1,1} &%1 = aten.slice.Tensor(%1, 1, 0, -1)
  %4: f32[s0,s1] = aten.sub.Tensor(%2, %3)
  %5: f32[floor_div(s0,2),s1+1] &%1 = aten.slice.Tensor(%1, 0, 0, floor_div(s0,2))
  %6: f32[floor_div(s0,2),s1+1] = aten.neg(%5)
  %7: f32[s1+1]+(s0-1)*(s1+1) &%1 = aten.select.int(%1, 0, -1)
  %8: f32[s1+1] = aten.sqrt(%7)
  %9: f32[s1+1] = aten.sum.dim_IntList(%6, [0])
  out %4 user
  out %6 user
  out %8 user
  out %9 user
)"},
    {"slice_scatter", "s0: 1.., s1: 1..", R"(
  in %0: f32[s0+2,s1] user
  in %1: f32[s0,s1] user
  in %2: f32[s1] user
  %3: f32[s0,s1] = aten.exp(%1)
  %4: f32[s0+2,s1] = aten.slice_scatter(%0, %3, 0, 2, 9223372036854775807)
  %5: f32[s0+2,s1] = aten.select_scatter(%4, %2, 0, s0)
  %6: f32[s0+2,s1] = aten.slice_scatter(%5, %1, 0, 1, s0+1)
  out %4 user
  out %5 user
  out %6 user
)"},
    {"gather", "s0: 1.., s1: 1..", R"(
  in %0: f32[s1,8] user
  in %1: i64[s0,3] user "s1"
  in %2: f32[s0,s1] user
  in %3: i64[s0,2] user "s1"
  in %4: i64[s0] user "s1"
  %5: f32[s0,3,8] = aten.embedding(%0, %1)
  %6: f32[s0,3,8] = aten.mul.Scalar(%5, 2.0)
  %7: f32[s0,2] = aten.gather(%2, 1, %3)
  %8: f32[s0,8] = aten.index_select(%0, 0, %4)
  %9: f32[s0,8] = aten.index.Tensor(%0, [%4])
  %10: f32[s0,8] = aten.add.Tensor(%8, %9)
  out %6 user
  out %7 user
  out %10 user
)"},
    {"embedding_backward", "s0: 1.., s1: 1..", R"(
  in %0: f32[s0,3,8] user
  in %1: i64[s0,3] user "s1"
  in %2: f32[s1,8] user
  in %3: i64[s0] user "s1"
  in %4: f32[s0,8] user
  %5: f32[s1,8] = aten.embedding_dense_backward(%0, %1, s1, -1, false)
  %6: f32[s1,8] = aten.mul.Scalar(%5, 0.5)
  %7: f32[s1,8] = aten.index_put(%2, [%3], %4, true)
  %8: f32[s1,8] = aten.index_add(%2, 0, %3, %4)
  out %6 user
  out %7 user
  out %8 user
)"},
    {"merged_views", "s0: 1.., s1: 1..", R"(
  in %0: f32[s0,s1,8] user
  in %1: f32[s0*s1,8] user
  in %2: f32[8*s0*s1] user
  %3: f32[s0,s1,8] = aten.exp(%0)
  %4: f32[s0*s1,8] &%3 = aten.view(%3, [s0*s1, 8])
  %5: f32[s0*s1,8] = aten.add.Tensor(%4, %1)
  %6: f32[8*s0*s1] &%5 = aten.view(%5, [8*s0*s1])
  %7: f32[8*s0*s1] = aten.mul.Tensor(%6, %2)
  %8: f32[s0,2*s1,4] &%7 = aten.view(%7, [s0, 2*s1, 4])
  %9: f32[s0,2*s1,4] = aten.neg(%8)
  %10: f32[2*s0,s1,2,2] &%9 = aten.view(%9, [2*s0, s1, 2, 2])
  %11: f32[2*s0,s1,2,2] = aten.sqrt(%10)
  out %9 user
  out %11 user
)"},
    {"heads", "s0: 1.., s1: 1..", R"(
  in %0: f32[s0,s1,12] user
  in %1: f32[s0,3,s1,4] user
  %2: f32[s0,s1,12] = aten.exp(%0)
  %3: f32[s0,s1,3,4] &%2 = aten.view(%2, [s0, s1, 3, 4])
  %4: f32[s0,3,s1,4]{12*s1,4,12,1} &%2 = aten.permute(%3, [0, 2, 1, 3])
  %5: f32[s0,3,s1,4]{12*s1,4,12,1} = aten.mul.Scalar(%4, 0.5)
  %6: f32[s0,3,s1,4] = aten.add.Tensor(%5, %1)
  %7: f32[s0,s1,3,4]{12*s1,4,4*s1,1} &%6 = aten.transpose.int(%6, 1, 2)
  %8: f32[s0,s1,3,4] = aten.clone(%7, memory_format=contiguous)
  %9: f32[s0*s1,12] &%8 = aten.view(%8, [s0*s1, 12])
  %10: f32[12] = aten.sum.dim_IntList(%9, [0])
  %11: f32[s0*s1,12] = aten.relu(%9)
  out %5 user
  out %10 user
  out %11 user
)"},
    {"transposes", "s0: 1.., s1: 1..", R"(
  in %0: f32[s0,s1] user
  in %1: f32[s1,s0] user
  %2: f32[s1,s0]{1,s1} &%0 = aten.t(%0)
  %3: f32[s1,s0] = aten.add.Tensor(%1, %2)
  %4: f32[s0,s1]{1,s0} &%3 = aten.t(%3)
  %5: f32[s0,s1] = aten.mul.Tensor(%0, %4)
  %6: f32[s0] = aten.sum.dim_IntList(%4, [1])
  %7: f32[s1] = aten.sum.dim_IntList(%4, [0])
  out %3 user
  out %5 user
  out %6 user
  out %7 user
)"},
    {"expand", "s0: 1.., s1: 1..", R"(
  in %0: f32[s0,1,4] user
  in %1: f32[s0,s1,4] user
  %2: f32[s0,1,4] = aten.exp(%0)
  %3: f32[s0,s1,4]{4,0,1} &%2 = aten.expand(%2, [s0, s1, 4])
  %4: f32[s0,s1,4] = aten.mul.Tensor(%3, %1)
  %5: f32[s0,s1,4] = aten.add.Tensor(%4, %2)
  %6: f32[s0,1,4] = aten.sum.dim_IntList(%5, [1], true)
  out %5 user
  out %6 user
)"},
    {"arange_and_masks", "s0: 1.., s1: 1..", R"(
  in %0: f32[s0,s1] user
  %1: i64[s0] = aten.arange(s0)
  %2: i64[s1] = aten.arange.start(s0, s0+s1)
  %3: i64[s0,1] &%1 = aten.unsqueeze(%1, 1)
  %4: bool[s0,s1] = aten.le.Tensor(%2, %3)
  %5: f32[] = aten.scalar_tensor(-inf, dtype=f32)
  %6: f32[s0,s1] = aten.where.self(%4, %0, %5)
  %7: i64[s1] = aten.arange.start_step(0, 3*s1, 3)
  %8: f32[s0,s1] = aten.full([s0, s1], s1)
  %9: f32[s0,s1] = aten.mul.Tensor(%0, %8)
  %10: f32[s1] = aten.ones([s1])
  out %6 user
  out %7 user
  out %9 user
  out %10 user
)"},
    {"dropout", "s0: 1.., s1: 1..", R"(
  in %0: f32[s0,s1] user
  in %1: i64[2] rng
  %2: bool[s0,s1] = antegrad.random_bernoulli(%1, 0, 0.75)
  %3: f32[s0,s1] = aten.mul.Tensor(%0, %2)
  %4: f32[s0,s1] = aten.mul.Scalar(%3, 1.25)
  %5: f32[s0,s1] = antegrad.random_normal(%1, floor_div(s0*s1+3,4), 0.5, 2.0)
  %6: f32[s0,s1] = aten.add.Tensor(%4, %5)
  out %6 user
)"},
    {"losses", "s0: 1.., s1: 1..", R"(
  in %0: f32[s0,s1] user
  in %1: i64[s0] user "s1"
  %2: f32[s0,1] = aten.amax(%0, [1], true)
  %3: f32[s0,s1] = aten.sub.Tensor(%0, %2)
  %4: f32[s0,s1] = aten.exp(%3)
  %5: f32[s0,1] = aten.sum.dim_IntList(%4, [1], true)
  %6: f32[s0,1] = aten.log(%5)
  %7: f32[s0,s1] = aten.sub.Tensor(%3, %6)
  %8: i64[s0,1] &%1 = aten.unsqueeze(%1, 1)
  %9: f32[s0,1] = aten.gather(%7, 1, %8)
  %10: f32[] = aten.sum(%9)
  %11: f32[] = aten.mul.Scalar(%10, over(-1.0, s0))
  %12: i64[s1] = aten.arange(s1)
  %13: bool[s0,s1] = aten.eq.Tensor(%8, %12)
  %14: f32[s0,s1] = aten._to_copy(%13, dtype=f32)
  %15: f32[s0,s1] = aten.exp(%7)
  %16: f32[s0,s1] = aten.sub.Tensor(%15, %14)
  %17: f32[s0,s1] = aten.div.Scalar(%16, s0)
  out %11 user
  out %17 user
)"},
    {"maybe_nothing", "s0: 1.., s1: 1..", R"(
  in %0: f32[s0-1,s1] user
  in %1: f32[s1,s0-1] user
  in %2: f32[s1] user
  %3: f32[s0-1,s1] = aten.exp(%0)
  %4: f32[s1] = aten.sum.dim_IntList(%3, [0])
  %5: f32[s1] = aten.sum.dim_IntList(%1, [1])
  %6: f32[s1] = aten.add.Tensor(%5, %4)
  %7: f32[] = aten.sum(%3)
  %8: f32[s0-1,1] = aten.sum.dim_IntList(%0, [1], true)
  %9: f32[s0-1,s1] = aten.sub.Tensor(%3, %8)
  %10: f32[s0,s1] = aten.constant_pad_nd(%9, [0, 0, 1, 0], 0.25)
  %11: f32[s0-1,s1] = aten.mul.Tensor(%3, %2)
  out %6 user
  out %7 user
  out %10 user
  out %11 user
)"},
};

ir::Graph graph_of(const Sample& sample) {
  return ir::parse(fmt::format("graph @g functional [{}] {{{}}}\n", sample.symbols, sample.body));
}

std::vector<std::vector<int64_t>> sizes_for(size_t symbols) {
  if (symbols == 1) return {{1}, {2}, {3}, {7}, {16}, {17}, {64}, {100}, {129}, {1000}};
  return {{1, 1}, {1, 7}, {7, 1}, {2, 3}, {3, 64}, {17, 16}, {64, 17}, {100, 129}, {129, 2}, {16, 100}};
}

class SymbolicPrograms : public ::testing::TestWithParam<Sample> {};

TEST_P(SymbolicPrograms, ComputeTheSameAsWithConstants) {
  const auto graph = graph_of(GetParam());
  const auto toolchain = toolchain::system_toolchain();
  const CompiledProgram compiled(graph, *toolchain, toolchain::detect_isa());
  for (const auto& decision : compiled.program().decisions)
    EXPECT_NE(decision.what, "LibTorch") << decision.why;
  for (const auto& values : sizes_for(graph.symbols.size())) {
    check_at(compiled, graph, values);
    if (!::testing::Test::HasFailure()) continue;
    for (const auto& kernel : compiled.program().kernels)
      ADD_FAILURE() << to_string(kernel) << codegen::cpu::kernel_source(kernel);
    return;
  }
}

const Sample& sample(std::string_view name) {
  return *std::ranges::find_if(kSamples, [&](const Sample& one) { return one.name == name; });
}

TEST(SymbolicScratch, RowsTooLongForTheStackAreInMemory) {
  const auto graph = graph_of(sample("softmax"));
  const auto toolchain = toolchain::system_toolchain();
  const CompiledProgram compiled(graph, *toolchain, toolchain::detect_isa());
  ASSERT_EQ(compiled.program().kernels.size(), 1U);
  const auto& buffers = compiled.program().kernels[0].buffers;
  ASSERT_TRUE(std::ranges::any_of(buffers, [](const Buffer& buffer) { return buffer.spill >= 0; }));
  for (const int64_t length : {kMostScratch - 1, kMostScratch, kMostScratch + 1, 3 * kMostScratch})
    check_at(compiled, graph, {3, length});
}

TEST(SymbolicScratch, RowsThatAreNeverLongNeedNoMemory) {
  auto graph = graph_of(sample("softmax"));
  graph.symbols[1].range.upper = 1000;
  const auto program = schedule(graph, all_settings());
  for (const auto& buffer : program.kernels.at(0).buffers) EXPECT_EQ(buffer.spill, -1);
}

INSTANTIATE_TEST_SUITE_P(Samples, SymbolicPrograms, ::testing::ValuesIn(kSamples),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace antegrad::schedule
