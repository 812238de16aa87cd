// Hand-written kernels of every kind, printed, compiled, run and compared with the interpreter of kernels.
#include "codegen/cpu/kernel_source.h"

#include "kernels/meanings.h"
#include "kernels/run_kernels.h"
#include "kernels/sample_kernels.h"

namespace antegrad::schedule {
namespace {

using ir::Dim;

const toolchain::Toolchain& compiler() {
  static const auto toolchain = toolchain::system_toolchain();
  return *toolchain;
}

class KernelSource : public ::testing::TestWithParam<toolchain::Isa> {
 protected:
  Case& add(Kernel kernel, std::vector<int64_t> dims = {}) {
    cases_.push_back(make_case(std::move(kernel), random_, std::move(dims)));
    return cases_.back();
  }
  void indices(Case& test, size_t buffer, int64_t from, int64_t to) {
    for (auto& number : test.memory[buffer])
      number.i = from + static_cast<int64_t>(random_() % static_cast<uint64_t>(to - from));
  }
  void TearDown() override { check_all(std::move(cases_), meanings(), compiler(), GetParam()); }

  std::mt19937_64 random_{7};
  std::deque<Case> cases_;  ///< a deque, so that references to cases stay valid
};

INSTANTIATE_TEST_SUITE_P(Isas, KernelSource, ::testing::ValuesIn(toolchain::runnable_isas()),
                         [](const auto& info) { return std::string(toolchain::isa_name(info.param)); });

TEST_P(KernelSource, PointwiseOfManySizesAndTypes) {
  for (const int64_t n : {0, 1, 7, 64, 101, 1000}) add(samples::pointwise(n));
  for (const auto dtype : {ir::DType::F64, ir::DType::BF16, ir::DType::F16})
    add(samples::pointwise(77, dtype));
  add(samples::pointwise(Dim::symbol(0) * 3 + 1), {33}).kernel.symbols = 1;
}

TEST_P(KernelSource, InPlace) {
  add(samples::scale(1003)).in_place = {{0, 1}};
  add(samples::softmax(9, 37)).in_place = {{0, 1}};
  add(samples::layer_norm(5, 130, 130)).in_place = {{0, 3}};
  add(samples::middle_softmax(3, 5, 70)).in_place = {{0, 1}};
}

TEST_P(KernelSource, RowReductionsOfAllKinds) {
  for (const auto combine : {Combine::Sum, Combine::Product, Combine::Max, Combine::Min}) {
    for (const int64_t n : {0, 1, 3, 17, 1031}) add(samples::row_reduce(6, n, combine));
    for (const auto dtype : {ir::DType::F64, ir::DType::I64, ir::DType::I32, ir::DType::U8, ir::DType::I8})
      add(samples::row_reduce(3, 45, combine, dtype));
    add(samples::row_reduce(Dim::symbol(0), Dim::symbol(1), combine), {4, 9001}).tolerance = 1e-4;
  }
  for (const auto combine : {Combine::Any, Combine::All, Combine::Max, Combine::Min})
    for (const int64_t n : {0, 1, 3, 100}) add(samples::row_reduce(40, n, combine, ir::DType::Bool));
}

TEST_P(KernelSource, NanPropagatesThroughMaximaAndMinima) {
  for (const auto combine : {Combine::Max, Combine::Min}) {
    for (const auto dtype : {ir::DType::F32, ir::DType::F64}) {
      auto& rows = add(samples::row_reduce(4, 50, combine, dtype));
      rows.memory[0][7].f = NAN;
      rows.memory[0][66].f = -NAN;
      for (size_t i = 100; i < 150; ++i) rows.memory[0][i].f = combine == Combine::Max ? -INFINITY : INFINITY;
      rows.memory[0][151].f = INFINITY;
      rows.memory[0][152].f = -INFINITY;
    }
    add(samples::full_sum(1000, 4, combine)).memory[0][600].f = -NAN;
  }
  auto& strips = add(samples::middle_softmax(1, 4, 70));
  strips.memory[0][75].f = NAN;
  strips.memory[0][10].f = -INFINITY;
}

TEST_P(KernelSource, SumsOfFloatsAreAsAccurateAsDouble) {
  for (const int64_t n : {5000, 300001}) {
    auto& rows = add(samples::row_reduce(2, n, Combine::Sum));
    auto& all = add(samples::full_sum(n, 3));
    for (auto* test : {&rows, &all}) {
      for (auto& number : test->memory[0]) number.f = static_cast<float>(1 + 0.1 * number.f);
      test->tolerance = 3e-7;
    }
  }
}

TEST_P(KernelSource, SoftmaxAndNormsByRows) {
  for (const int64_t n : {1, 5, 64, 131, 5000}) {
    add(samples::softmax(4, n));
    add(samples::layer_norm(4, n, static_cast<double>(n)));
    add(samples::layer_norm_backward(11, n, static_cast<double>(n), 3));
    add(samples::layer_norm_backward(3, n, static_cast<double>(n), 5, ir::DType::F64));
  }
  add(samples::softmax(Dim::symbol(0), Dim::symbol(1)), {3, 29});
  add(samples::softmax(0, 29));
}

TEST_P(KernelSource, SumsInChunks) {
  for (const int64_t rows : {0, 1, 2, 13, 100}) {
    add(samples::column_sums(rows, 37, 4));
    add(samples::column_sums(rows, 5, 1, ir::DType::F64));
    add(samples::full_sum(rows, 4));
    add(samples::full_sum(rows, 3, Combine::Max));
    add(samples::chunked_sum(rows, 3));
    add(samples::chunked_sum(rows, 1, Combine::Max));
  }
  add(samples::column_sums(Dim::symbol(0), Dim::symbol(1), 4), {23, 19});
  add(samples::column_sums(Dim::symbol(0), Dim::symbol(1), 4), {0, 19});
}

TEST_P(KernelSource, StripsOfLanes) {
  for (const int64_t columns : {1, 3, 63, 64, 65, 128, 200})
    for (const int64_t n : {1, 7}) add(samples::middle_softmax(2, n, columns));
  add(samples::middle_softmax(1, 3000, 66));
  add(samples::middle_softmax(Dim::symbol(0), Dim::symbol(1), Dim::symbol(2)), {2, 5, 130});
  add(samples::middle_softmax(2, 5, 0));
  add(samples::middle_softmax(2, 0, 5));
}

TEST_P(KernelSource, StripsWithScratchAndChunks) {
  for (const int64_t columns : {5, 64, 150}) {
    KernelBuilder b("strip_chunks");
    const auto x = b.input(ir::DType::F32, 3 * 6 * columns), w = b.input(ir::DType::F32, 6);
    const auto y = b.output(ir::DType::F32, 3 * 6 * columns), by_row = b.output(ir::DType::F32, 6 * 2);
    const auto all = b.output(ir::DType::F32, 2), s = b.scratch(ir::DType::F32, 6);
    b.kernel.chunks = 2;
    const auto o = b.outer(3), c = b.outer(columns), i = b.loop(6), j = b.loop(6);
    b.kernel.lane = c;
    b.section({i});
    const auto value = b.compute(
        "a * b", {b.load(x, affine({{o, 6 * columns}, {c, 1}, {i, columns}})), b.load(w, affine({{i, 1}}))});
    b.store(s, affine({{i, 1}}), value);
    b.accumulate(Combine::Sum, by_row, affine({{i, 1}}), value);
    b.accumulate(Combine::Sum, all, affine({}), value);
    const auto sum = b.reduce(Combine::Sum, value);
    b.section({j});
    b.store(y, affine({{o, 6 * columns}, {c, 1}, {j, columns}}),
            b.compute("a + b", {b.load(s, affine({{j, 1}})), sum}));
    add(b.kernel);
  }
}

TEST_P(KernelSource, BroadcastsTransposesAndOffsets) {
  for (const int64_t n : {1, 2, 3, 50}) {
    KernelBuilder b("broadcast");
    const auto x = b.input(ir::DType::F32, 5 * 4 * n + 3), w = b.input(ir::DType::F32, 5),
               v = b.input(ir::DType::F32, n);
    const auto y = b.output(ir::DType::F32, 4 * 5 * n);
    const auto o = b.outer(4), p = b.outer(5), i = b.loop(n);
    b.section({i});
    const auto value = b.load(x, affine({{o, n}, {p, 4 * n}, {i, 1}}, 3));
    const auto scaled =
        b.compute("a * b + c", {value, b.load(w, affine({{p, 1}})), b.load(v, affine({{i, -1}}, n - 1))});
    b.store(y, affine({{o, 5 * n}, {p, n}, {i, 1}}), scaled);
    add(b.kernel);
  }
}

TEST_P(KernelSource, IndicesFromTensors) {
  for (const int64_t n : {1, 3, 33}) indices(add(samples::gather_rows(20, 7, n)), 1, -7, 7);
  indices(add(samples::gather_rows(20, 7, 4, false)), 1, 0, 7);
  indices(add(samples::gather_rows(20, Dim::symbol(0), 4), {9}), 1, -9, 9);
  for (const int64_t wrong : {7, -8, 1 << 30}) {
    auto& outside = add(samples::gather_rows(20, 7, 3));
    indices(outside, 1, -7, 7);
    outside.memory[1][13].i = wrong;
  }
  auto& negative = add(samples::gather_rows(20, 7, 4, false));
  indices(negative, 1, 0, 7);
  negative.memory[1][0].i = -1;
  add(samples::gather_rows(4, Dim::symbol(0), 4), {0});
  add(samples::gather_rows(4, 0, 4));
  add(samples::gather_rows(0, 0, 4));
}

TEST_P(KernelSource, IndicesInTheInnermostLoop) {
  for (const int64_t wrong : {0, 50}) {
    KernelBuilder b("gather_elements");
    const auto x = b.input(ir::DType::F32, 10 * 50), at = b.input(ir::DType::I64, 10 * 30);
    const auto y = b.output(ir::DType::F32, 10 * 30);
    const auto r = b.outer(10), i = b.loop(30);
    b.section({i});
    const auto index = b.load(at, affine({{r, 30}, {i, 1}}));
    b.store(y, affine({{r, 30}, {i, 1}}), b.load(x, affine({{r, 50}}), {{index, 1, 50, true}}));
    auto& test = add(b.kernel);
    indices(test, 1, -50, 50);
    test.memory[1][77].i = wrong;
  }
}

TEST_P(KernelSource, ScatterByOwner) {
  for (const auto combine : {Combine::Sum, Combine::Set, Combine::Max})
    for (const int64_t n : {1, 3, 40}) indices(add(samples::scatter_rows(30, 7, n, combine)), 1, -7, 7);
  auto& outside = add(samples::scatter_rows(30, 7, 3));
  indices(outside, 1, -7, 7);
  outside.memory[1][29].i = 7;
  indices(add(samples::scatter_rows(Dim::symbol(0), Dim::symbol(1), 4), {10, 5}), 1, -5, 5);
  KernelBuilder b("scatter_elements");
  const auto x = b.input(ir::DType::BF16, 60), at = b.input(ir::DType::I64, 60),
             y = b.output(ir::DType::BF16, 9 * 2);
  b.kernel.owner = true;
  b.kernel.clear = {{y, 2}};
  const auto i = b.loop(60);
  b.section({i});
  const auto value = b.load(x, affine({{i, 1}}));
  const auto index = b.load(at, affine({{i, 1}}));
  b.scatter(Combine::Sum, y, affine({}, 1), {{index, 2, 9, true}}, value);
  indices(add(b.kernel), 1, 0, 9);
}

TEST_P(KernelSource, RandomNumbersAreThoseOfPhilox) {
  add(samples::dropout(2500));
  for (const auto kind :
       {RandomKind::Bits32, RandomKind::Bits64, RandomKind::Normal32, RandomKind::Normal64}) {
    const bool wide = kind == RandomKind::Bits64 || kind == RandomKind::Normal64;
    const auto dtype = wide ? ir::DType::F64 : ir::DType::F32;
    for (const int64_t stride : {1, 3}) {
      KernelBuilder b("random");
      const auto stream = b.input(ir::DType::I64, 2), y = b.output(dtype, 5 * 1300);
      const auto r = b.outer(5), i = b.loop(1300);
      b.section({i});
      auto value = b.random(kind, stream, affine({{r, 1301}, {i, stride}}, 1), 11);
      if (kind == RandomKind::Bits32) value = b.compute("unit(a, 24)", {value});
      if (kind == RandomKind::Bits64) value = b.compute("unit(a, 53)", {value}, ir::DType::F64);
      b.store(y, affine({{r, 1300}, {i, 1}}), value);
      add(b.kernel).tolerance = 3e-6;
    }
    KernelBuilder b("random_strips");
    const auto stream = b.input(ir::DType::I64, 2), y = b.output(dtype, 3 * 70);
    const auto c = b.outer(70), i = b.loop(3);
    b.kernel.lane = c;
    b.section({i});
    auto value = b.random(kind, stream, affine({{c, 1}, {i, 71}}), 0);
    if (kind == RandomKind::Bits32) value = b.compute("unit(a, 24)", {value});
    if (kind == RandomKind::Bits64) value = b.compute("unit(a, 53)", {value}, ir::DType::F64);
    b.store(y, affine({{c, 1}, {i, 70}}), value);
    add(b.kernel).tolerance = 3e-6;
  }
}

TEST_P(KernelSource, IntegersWrapInTheirOwnType) {
  for (const auto dtype : {ir::DType::I8, ir::DType::U8, ir::DType::I16, ir::DType::I32, ir::DType::I64}) {
    for (const auto* text : {"a + b", "a * b", "a & b", "a ^ b", "nan_max(a, b)", "a << 3", "-a", "~a"}) {
      KernelBuilder b("integers");
      const auto x = b.input(dtype, 99), y = b.input(dtype, 99), z = b.output(dtype, 99);
      const auto i = b.loop(99);
      b.section({i});
      const auto first = b.load(x, affine({{i, 1}})), second = b.load(y, affine({{i, 1}}));
      const auto square = b.compute("a * b", {first, second}, dtype);
      b.store(z, affine({{i, 1}}), b.compute(text, {square, second}, dtype));
      add(b.kernel);
    }
  }
}

TEST_P(KernelSource, CastsBetweenAllTypes) {
  using ir::DType;
  const auto types = {DType::U8,  DType::I8,   DType::I16, DType::I32, DType::I64,
                      DType::F16, DType::BF16, DType::F32, DType::F64, DType::Bool};
  for (const auto from : types) {
    for (const auto to : types) {
      if (ir::is_floating(from) && to == DType::U8) continue;  // negative numbers are out of range
      KernelBuilder b("cast");
      const auto x = b.input(from, 67), y = b.output(to, 67);
      const auto i = b.loop(67);
      b.section({i});
      b.store(y, affine({{i, 1}}), b.cast(to, b.load(x, affine({{i, 1}}))));
      add(b.kernel).tolerance = 0;
    }
  }
}

TEST_P(KernelSource, OneUnitWithoutOuterLoops) {
  KernelBuilder b("normalise");
  const auto x = b.input(ir::DType::F32, 300), y = b.output(ir::DType::F32, 300);
  const auto i = b.loop(300), j = b.loop(300);
  b.section({i});
  const auto sum = b.reduce(Combine::Sum, b.load(x, affine({{i, 1}})));
  b.section({j});
  b.store(y, affine({{j, 1}}), b.compute("a * b", {b.load(x, affine({{j, 1}})), sum}));
  add(b.kernel);
  EXPECT_EQ(units(b.kernel), Dim(1));
}

}  // namespace
}  // namespace antegrad::schedule
