// Runs the CUDA text of typical and of random kernels on the CPU (tests/kernels/cuda_shim.h) and compares it
// with the interpreter of kernels. ANTEGRAD_FUZZ_SEED and ANTEGRAD_FUZZ_KERNELS choose other random kernels.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "codegen/text/c_text.h"
#include "kernels/emulate.h"
#include "kernels/meanings.h"
#include "kernels/random_kernel.h"
#include "kernels/sample_kernels.h"

namespace antegrad::schedule {
namespace {

using ir::Dim;
using ir::DType;

/// Devices of different sizes, so that kernels are mapped in different ways.
DeviceFacts device(uint64_t number) {
  DeviceFacts facts;
  constexpr int32_t kSizes[] = {132, 1, 8};
  facts.multiprocessors = kSizes[number % 3];
  return facts;
}

void add_case(std::deque<CudaCase>& cases, Case test, const DeviceFacts& facts) {
  auto& kernel = test.kernel;
  kernel.device = ir::Device::Kind::Cuda;
  kernel.owner = false;
  kernel.symbols = static_cast<int32_t>(test.dims.size());
  for (const bool aligned : {true, false})
    cases.push_back({test, codegen::cuda::map_kernel(kernel, facts, aligned), aligned});
}

class Samples {
 public:
  void add(Kernel kernel, std::vector<int64_t> dims = {}) {
    for (uint64_t i = 0; i < 3; ++i) add_case(cases_, make_case(kernel, random_, dims), device(i));
  }
  void check() { check_emulated(std::move(cases_), meanings()); }
  /// The first input and the first output share memory.
  void check_in_place() {
    for (auto& one : cases_) {
      const auto& buffers = one.test.kernel.buffers;
      const auto output = std::ranges::find(buffers, Buffer::Kind::Output, &Buffer::kind) - buffers.begin();
      one.test.in_place = {{0, static_cast<int32_t>(output)}};
    }
    check();
  }

 private:
  std::mt19937_64 random_{1};
  std::deque<CudaCase> cases_;
};

TEST(CudaEmulation, Flat) {
  Samples samples;
  for (const int64_t n : {1, 3, 1024, 1000, 70001}) samples.add(samples::pointwise(n));
  samples.add(samples::pointwise(40000, DType::BF16));
  samples.add(samples::pointwise(33333, DType::F16));
  samples.add(samples::pointwise(3000, DType::F64));
  samples.add(samples::pointwise(Dim::symbol(0)), {4097});
  samples.add(samples::pointwise(Dim::symbol(0)), {0});
  samples.check();
}

TEST(CudaEmulation, Rows) {
  Samples samples;
  for (const auto combine : {Combine::Sum, Combine::Max, Combine::Min, Combine::Product}) {
    samples.add(samples::row_reduce(7, 100, combine));
    samples.add(samples::row_reduce(5, 1031, combine, DType::F64));
    samples.add(samples::row_reduce(19, 24, combine, DType::I32));
    samples.add(samples::row_reduce(Dim::symbol(0), Dim::symbol(1) * 2, combine), {3, 40});
  }
  samples.add(samples::row_reduce(3, 20000, Combine::Sum));
  samples.add(samples::row_reduce(2, 64, Combine::Any, DType::Bool));
  for (const int64_t n : {1, 24, 100, 768, 1000, 5000, 9000}) {
    samples.add(samples::softmax(3, n));
    samples.add(samples::layer_norm(5, n, static_cast<double>(n)));
    samples.add(samples::scaled_residual(7, n, n % 2 == 0 ? DType::F32 : DType::BF16));
  }
  samples.add(samples::softmax(130, 33));
  samples.add(samples::layer_norm(Dim::symbol(0), 64, 64), {9});
  samples.add(samples::layer_norm(Dim::symbol(0), Dim::symbol(1), 64), {9, 64});
  samples.check();
}

TEST(CudaEmulation, SumsOfColumns) {
  Samples samples;
  for (const int64_t n : {1, 3, 64, 100, 768, 2048}) {
    samples.add(samples::column_sums(70, n, 4));
    samples.add(samples::layer_norm_backward(21, n, static_cast<double>(n), 3));
    samples.add(samples::layer_norm_backward(9, n, static_cast<double>(n), 1, DType::F64));
  }
  for (const auto combine : {Combine::All, Combine::Any})
    for (const int64_t n : {3, 17, 100, 5000}) samples.add(samples::column_truths(52, n, 1, combine));
  samples.add(samples::column_sums(9, 4000, 2));
  samples.add(samples::column_sums(9, 9001, 2));
  samples.add(samples::column_sums(Dim::symbol(0), Dim::symbol(1), 5), {33, 129});
  samples.add(samples::column_sums(Dim::symbol(0), Dim::symbol(1), 5), {3, 5000});
  samples.add(samples::layer_norm_backward(9, 20000, 20000, 2));
  samples.add(samples::layer_norm_backward(9, Dim::symbol(0), 2000, 2), {2000});
  samples.check();
}

TEST(CudaEmulation, WholeReductions) {
  Samples samples;
  for (const auto combine : {Combine::Sum, Combine::Max, Combine::Min}) {
    samples.add(samples::full_sum(1, 1, combine));
    samples.add(samples::full_sum(50001, 5, combine));
    samples.add(samples::chunked_sum(50001, 5, combine));
    samples.add(samples::chunked_sum(Dim::symbol(0), 3, combine), {3001});
    samples.add(samples::full_sum(Dim::symbol(0), 3, combine), {3001});
  }
  samples.check();
}

TEST(CudaEmulation, Columns) {
  Samples samples;
  samples.add(samples::middle_softmax(2, 5, 70));
  samples.add(samples::middle_softmax(1, 100, 3));
  samples.add(samples::middle_softmax(3, 64, 200));
  samples.add(samples::middle_softmax(Dim::symbol(0), Dim::symbol(1), Dim::symbol(2)), {2, 33, 65});
  samples.check();
}

TEST(CudaEmulation, RandomNumbers) {
  Samples samples;
  for (const int64_t n : {5, 4096, 50003}) samples.add(samples::dropout(n));
  for (const auto kind :
       {RandomKind::Bits32, RandomKind::Bits64, RandomKind::Normal32, RandomKind::Normal64}) {
    const bool wide = kind == RandomKind::Bits64 || kind == RandomKind::Normal64;
    const bool normal = kind == RandomKind::Normal32 || kind == RandomKind::Normal64;
    for (const auto memory : {DType::F32, DType::F64, DType::BF16}) {
      KernelBuilder b("numbers");
      const auto stream = b.input(DType::I64, 2), y = b.output(memory, 40000);
      const auto i = b.loop(40000);
      b.section({i});
      auto number = b.random(kind, stream, affine({{i, 1}}), 5);
      if (!normal)
        number = b.compute(wide ? "unit(a, 53)" : "unit(a, 24)", {number}, wide ? DType::F64 : DType::F32);
      const auto type = compute_type(memory);
      if (type != (wide ? DType::F64 : DType::F32)) number = b.cast(type, number);
      b.store(y, affine({{i, 1}}), number);
      b.kernel.buffers[0].host = true;
      samples.add(b.kernel);
    }
  }
  samples.check();
}

/// Returns the distance from the true sigmoid in units in the last place.
double sigmoid_error(float x, float got) {
  if (std::isnan(x) || std::isnan(got)) return std::isnan(x) == std::isnan(got) ? 0 : HUGE_VAL;
  // Where exp(-x) overflows, the result may be 0, as in LibTorch.
  if (x < -88.7F && got == 0) return 0;
  const double expected = 1 / (1 + std::exp(-static_cast<double>(x)));
  const int exponent = std::max(std::ilogb(expected), std::numeric_limits<float>::min_exponent - 1);
  return std::abs(got - expected) / std::ldexp(1.0, exponent - std::numeric_limits<float>::digits + 1);
}

TEST(CudaEmulation, TheSigmoidIsAccurate) {
  std::vector<float> points{0.0F, INFINITY, -INFINITY, NAN, 0x1p-149F, -0x1p-149F};
  for (float x = -92; x < 92; x += 0.0173F) points.push_back(x);
  for (float x = 0x1p-30F; x < 0x1p126F; x *= 1.7F) points.insert(points.end(), {x, -x});
  KernelBuilder b("sigmoid");
  const auto n = static_cast<int64_t>(points.size());
  const auto x = b.input(DType::F32, n), y = b.output(DType::F32, n), i = b.loop(n);
  b.section({i});
  b.store(y, affine({{i, 1}}), b.compute("sigmoid(a)", {b.load(x, affine({{i, 1}}))}));
  std::mt19937_64 random(1);
  std::deque<CudaCase> cases;
  add_case(cases, make_case(b.kernel, random), {});
  auto& one = cases.front();
  for (size_t k = 0; k < points.size(); ++k) one.test.memory[0][k].f = points[k];
  const EmulatedModule module("#include \"kernels/cuda_shim.h\"\n" +
                              codegen::cuda::portable_source({{&one.test.kernel, &one.mapping}}) +
                              launcher(one.test.kernel, one.mapping));
  ASSERT_EQ(module.error(), "");
  const auto results = emulate(one, module.find(one.test.kernel.name), 1).memory[1];
  for (size_t k = 0; k < points.size(); ++k)
    EXPECT_LE(sigmoid_error(points[k], static_cast<float>(results[k].f)), 3) << "at " << points[k];
}

TEST(CudaEmulation, GathersAndScatters) {
  std::mt19937_64 random(3);
  std::deque<CudaCase> cases;
  const auto add_indexed = [&](Kernel kernel, int64_t places, bool all_good) {
    for (uint64_t i = 0; i < 2; ++i) {
      auto test = make_case(kernel, random);
      for (auto& number : test.memory[1])
        number.i = static_cast<int64_t>(random() % static_cast<uint64_t>(2 * places)) - places;
      if (!all_good) test.memory[1][2].i = places;
      add_case(cases, std::move(test), device(i));
    }
  };
  for (const bool all_good : {true, false}) {
    add_indexed(samples::gather_rows(30, 9, 64), 9, all_good);
    add_indexed(samples::gather_rows(31, 9, 33), 9, all_good);
    for (const auto combine : {Combine::Sum, Combine::Max, Combine::Product})
      add_indexed(samples::scatter_rows(50, 7, 20, combine), 7, all_good);
  }
  check_emulated(std::move(cases), meanings());
}

TEST(CudaEmulation, ResultsInPlace) {
  Samples samples;
  samples.add(samples::pointwise(9000));
  samples.add(samples::softmax(11, 300));
  samples.add(samples::layer_norm(12, 2000, 2000));
  samples.add(samples::scaled_residual(12, 1000));
  samples.check_in_place();
}

int64_t environment(const char* name, int64_t otherwise) {
  const auto* text = std::getenv(name);
  return text != nullptr ? std::strtoll(text, nullptr, 10) : otherwise;
}

TEST(CudaEmulation, RandomKernels) {
  constexpr int64_t kTogether = 60;
  const auto first = environment("ANTEGRAD_FUZZ_SEED", 1), count = environment("ANTEGRAD_FUZZ_KERNELS", 180);
  for (int64_t seed = first; seed < first + count; seed += kTogether) {
    std::deque<CudaCase> cases;
    for (int64_t i = 0; i < kTogether; ++i)
      add_case(cases, RandomKernel(static_cast<uint64_t>(seed + i)).make(), device(static_cast<uint64_t>(i)));
    SCOPED_TRACE(fmt::format("seeds from {}", seed));
    check_emulated(std::move(cases), meanings());
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace antegrad::schedule
