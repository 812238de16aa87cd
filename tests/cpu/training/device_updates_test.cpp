// The text of the kernels that make steps on CUDA devices runs on the CPU (tests/kernels/cuda_shim.h) and is
// compared with LibTorch's ops. NVRTC compiles it, where it is installed.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <limits>

#include "codegen/cuda/kernel_source.h"
#include "codegen/text/c_text.h"
#include "codegen/text/expression.h"
#include "ir/text.h"
#include "kernels/emulate.h"
#include "optim/device_kernels.h"
#include "optim/tensor_update.h"
#include "passes/pipelines.h"
#include "support/seeds.h"
#include "toolchain/cuda/nvrtc.h"

namespace antegrad::optim {
namespace {

using at::Tensor;
using codegen::cuda::NormKind;
using codegen::cuda::TableControl;
using codegen::cuda::TableRow;
using codegen::cuda::TableText;
using ir::DType;

TableText text_of(const Formula& formula, bool scale_on_device, bool vectors) {
  auto graph = ir::parse(device_graph_text(formula, scale_on_device));
  passes::run_pipeline(graph, passes::passes_of("before_fusion"), {});
  schedule::Settings settings;
  settings.supports = codegen::expression_supported;
  settings.cuda = schedule::cuda_target({});
  return update_text(formula, schedule::schedule(graph, settings), {}, vectors);
}

constexpr const char* kLaunchers[] = {
    // of update kernels, of norms, of their ends
    R"(extern "C" const char* run_k(const void* table, int rows, int tiles, const void* control, double,
                     long long blocks, unsigned seed) {
  return ag_shim_launch(blocks, 256, 0, seed, false,
                        [&] { antegrad_kernel(*(const AgTable*)table, rows, tiles, (const AgControl*)control); });
})",
    R"(extern "C" const char* run_k(const void* table, int rows, int tiles, const void* partials, double power,
                     long long blocks, unsigned seed) {
  return ag_shim_launch(blocks, 256, 128, seed, true,
                        [&] { antegrad_kernel(*(const AgTable*)table, rows, tiles, (double*)partials, power); });
})",
    R"(extern "C" const char* run_k(const void* partials, int count, int, const void* how, double,
                     long long control, unsigned seed) {
  return ag_shim_launch(1, 256, 128, seed, true, [&] {
    antegrad_kernel((const double*)partials, count, *(const AgNormEnd*)how, (AgControl*)control);
  });
})"};

/// A kernel that runs on the CPU.
class Emulated {
 public:
  enum Kind { kUpdate, kNorm, kEnd };
  Emulated(const std::string& text, Kind kind)
      : module_("#include \"kernels/cuda_shim.h\"\n" + text + kLaunchers[kind]),
        run_(reinterpret_cast<Run>(reinterpret_cast<void*>(module_.find("k")))) {
    EXPECT_EQ(module_.error(), "") << text;
  }
  void run(const void* table, int rows, int tiles, const void* argument, double number,
           long long blocks) const {
    if (run_ == nullptr) return;
    EXPECT_STREQ(run_(table, rows, tiles, argument, number, blocks, 7), nullptr);
  }

 private:
  using Run = const char* (*)(const void*, int, int, const void*, double, long long, unsigned);
  schedule::EmulatedModule module_;
  Run run_;
};

at::ScalarType torch_type(DType dtype) {
  return dtype == DType::F64    ? at::kDouble
         : dtype == DType::F16  ? at::kHalf
         : dtype == DType::BF16 ? at::kBFloat16
                                : at::kFloat;
}

/// A tensor that begins at a multiple of 16 bytes, or just not.
Tensor placed(const Tensor& contents, bool aligned) {
  return at::empty({contents.numel() + 1}, contents.options())
      .slice(0, aligned ? 0 : 1, contents.numel() + (aligned ? 0 : 1))
      .copy_(contents);
}

std::vector<Update> updates_like(const Formula& formula, bool aligned) {
  std::vector<Update> updates;
  for (const int64_t elements : {1, 0, 7, 1023, 1024, 2500, 40'000}) {
    Update update;
    update.formula = formula;
    const auto random = [&] { return placed(at::randn({elements}, torch_type(formula.dtype)), aligned); };
    update.parameter = random();
    update.gradient = random();
    for (int32_t i = 0; i < states(formula); ++i) update.state.push_back(random().abs_());
    if (formula.centered) update.state[0].add_(20);  // a variance is not negative
    // The first rows share their numbers.
    for (size_t n = 0; n < kNumbers; ++n)
      update.numbers[n] = 0.1 + 0.05 * static_cast<double>(n) + (updates.size() > 3 ? 0.01 : 0);
    update.numbers[kLowest] = -0.5;
    updates.push_back(std::move(update));
  }
  return updates;
}

TableRow row_of(const Update& update, const void* numbers) {
  TableRow row;
  size_t next = 0;
  for (const auto* tensor : {&update.parameter, &update.gradient})
    row.tensors[next++] = tensor->const_data_ptr();
  for (const auto& state : update.state) row.tensors[next++] = state.const_data_ptr();
  row.elements = update.parameter.numel();
  row.numbers = numbers;
  return row;
}

void run_updates(const Emulated& kernel, const codegen::cuda::TableShape& shape,
                 const std::vector<Update>& updates, const TableControl* control) {
  std::vector<Tensor> numbers;
  std::vector<TableRow> rows;
  for (const auto& update : updates) {
    const auto wide = at::tensor(c10::ArrayRef<double>(update.numbers), at::kDouble);
    numbers.push_back(wide.to(computed_type(update.formula) == DType::F64 ? at::kDouble : at::kFloat));
    rows.push_back(row_of(update, numbers.back().const_data_ptr()));
  }
  for (const auto& image : codegen::cuda::table_images(shape, rows, 1))
    kernel.run(image.words.data(), image.rows, image.tiles, control, 0, image.blocks);
}

void expect_close(const Tensor& actual, const Tensor& expected, DType dtype) {
  const double rounding = dtype == DType::F64   ? 1e-12
                          : dtype == DType::F32 ? 1e-5
                          : dtype == DType::F16 ? 2e-3
                                                : 2e-2;
  EXPECT_TRUE(at::allclose(actual.to(at::kDouble), expected.to(at::kDouble), rounding, rounding))
      << (actual - expected).abs().max();
}

/// Compares with LibTorch's ops, for which `scale` is a number.
void expect_updates(const Formula& formula, bool scale_on_device, bool aligned) {
  SCOPED_TRACE(fmt::format("method {}, {}{}", static_cast<int>(formula.method), ir::name(formula.dtype),
                           aligned ? "" : ", not aligned"));
  const auto text = text_of(formula, scale_on_device, aligned);
  const Emulated kernel(text.text, Emulated::kUpdate);
  test::manual_seed(3);
  auto updates = updates_like(formula, aligned);
  TableControl control;
  control.scale = control.narrow_scale = 0.25;
  auto expected = updates;
  for (auto& update : expected) {
    update.parameter = update.parameter.clone();
    for (auto& state : update.state) state = state.clone();
    if (scale_on_device) update.numbers[kScale] = 0.25;
    apply_to_tensors(update);
  }
  const auto before = updates[5].parameter.clone();
  if (scale_on_device) {
    auto skipping = control;
    skipping.skip = 1;
    run_updates(kernel, text.shape, updates, &skipping);
    EXPECT_TRUE(at::equal(updates[5].parameter, before));
  }
  run_updates(kernel, text.shape, updates, scale_on_device ? &control : nullptr);
  EXPECT_FALSE(at::equal(updates[5].parameter, before));
  for (size_t i = 0; i < updates.size(); ++i) {
    expect_close(updates[i].parameter, expected[i].parameter, formula.dtype);
    for (size_t k = 0; k < updates[i].state.size(); ++k)
      expect_close(updates[i].state[k], expected[i].state[k], formula.dtype);
    if (::testing::Test::HasFailure()) return;
  }
}

Formula formula_of(Method method, DType dtype = DType::F32) {
  Formula formula;
  formula.method = method;
  formula.dtype = dtype;
  return formula;
}

TEST(DeviceUpdates, OfAdamInEveryType) {
  for (const auto dtype : {DType::F32, DType::F64, DType::F16, DType::BF16}) {
    auto formula = formula_of(Method::AdamW, dtype);
    formula.decays = formula.decoupled = true;
    expect_updates(formula, false, true);
  }
  auto formula = formula_of(Method::Adam, DType::BF16);
  formula.amsgrad = formula.averages = formula.decays = true;
  expect_updates(formula, false, false);
}

TEST(DeviceUpdates, OfEveryElementwiseMethod) {
  auto sgd = formula_of(Method::Sgd);
  expect_updates(sgd, false, true);
  sgd.momentum = sgd.nesterov = sgd.decays = true;
  expect_updates(sgd, false, false);
  auto rms = formula_of(Method::RmsProp);
  rms.momentum = rms.centered = rms.averages = true;
  expect_updates(rms, false, true);
  for (const auto method : {Method::Adagrad, Method::Lion, Method::NAdam})
    expect_updates(formula_of(method), false, true);
}

TEST(DeviceUpdates, ReadsTheScaleFromTheDevice) {
  for (const auto dtype : {DType::F32, DType::F64}) {
    auto formula = formula_of(Method::Adam, dtype);
    formula.scales = formula.clamps = true;
    expect_updates(formula, true, true);
  }
}

TEST(DeviceUpdates, OfManyTensorsInFewLaunches) {
  const auto formula = formula_of(Method::AdamW);
  const auto text = text_of(formula, false, true);
  test::manual_seed(4);
  std::vector<float> numbers(kNumbers, 0.5F), others(kNumbers, 0.25F);
  std::vector<TableRow> rows;
  auto memory = at::zeros({4, 300, 1024});
  for (int64_t i = 0; i < 300; ++i) {
    TableRow row;
    for (int64_t k = 0; k < 4; ++k) row.tensors[static_cast<size_t>(k)] = memory[k][i].const_data_ptr();
    row.elements = i == 17 ? 0 : 1024;
    row.numbers = i % 2 == 0 ? numbers.data() : others.data();
    rows.push_back(row);
  }
  const auto images = codegen::cuda::table_images(text.shape, rows, 132);
  EXPECT_LE(images.size(), 4U);
  int64_t count = 0;
  for (const auto& image : images) count += image.rows;
  EXPECT_EQ(count, 299);
  memory[1].fill_(1);
  const Emulated kernel(text.text, Emulated::kUpdate);
  for (const auto& image : images)
    kernel.run(image.words.data(), image.rows, image.tiles, nullptr, 0, image.blocks);
  EXPECT_EQ(memory[2][0][0].item<float>(), 0.5F);
  EXPECT_EQ(memory[2][17].abs().max().item<float>(), 0);
  EXPECT_TRUE(at::equal(memory[2][298], at::full({1024}, 0.5F)));
  EXPECT_TRUE(at::equal(memory[2][299], at::full({1024}, 0.25F)));
}

TEST(DeviceUpdates, KeepTheNumbersOfEachRow) {
  const codegen::cuda::TableShape shape{4, 8, 1024};
  std::vector<std::array<float, kNumbers>> numbers(200);
  std::vector<TableRow> rows(200);
  for (size_t i = 0; i < rows.size(); ++i) {
    numbers[i].fill(static_cast<float>(i));
    rows[i].elements = 5000;
    rows[i].numbers = numbers[i].data();
  }
  size_t next = 0;
  for (const auto& image : codegen::cuda::table_images(shape, rows, 132)) {
    EXPECT_EQ(image.blocks, 5 * image.rows);
    for (int32_t row = 0; row < image.rows; ++row) {
      const auto last = image.words[static_cast<size_t>(row) * 6 + 5];
      EXPECT_EQ(static_cast<uint32_t>(last), 5U * static_cast<uint32_t>(row));
      EXPECT_EQ(std::memcmp(&image.words[(last >> 32) * 8], numbers[next++].data(), 64), 0);
    }
  }
  EXPECT_EQ(next, rows.size());
}

// --- norms

TableControl norm_of(const std::vector<Tensor>& tensors, double type, NormKind kind, DType dtype,
                     bool aligned, codegen::cuda::NormEnd end) {
  const auto text = codegen::cuda::norm_source(kTableFunction, kind, dtype, aligned);
  const Emulated stage(text.text, Emulated::kNorm);
  const Emulated last(codegen::cuda::norm_end_source(kTableFunction), Emulated::kEnd);
  std::vector<TableRow> rows;
  for (const auto& tensor : tensors) {
    TableRow row;
    row.tensors[0] = tensor.const_data_ptr();
    row.elements = tensor.numel();
    rows.push_back(row);
  }
  std::vector<double> partials(2000, std::numeric_limits<double>::quiet_NaN());
  int64_t blocks = 0;
  for (const auto& image : codegen::cuda::table_images(text.shape, rows, 1)) {
    stage.run(image.words.data(), image.rows, image.tiles, &partials[2 * static_cast<size_t>(blocks)], type,
              image.blocks);
    blocks += image.blocks;
  }
  end.kind = static_cast<int32_t>(kind);
  end.power = type;
  TableControl control;
  control.skip = 7;
  last.run(partials.data(), static_cast<int>(blocks), 0, &end, 0, reinterpret_cast<long long>(&control));
  return control;
}

std::vector<Tensor> some_tensors(DType dtype, bool aligned) {
  test::manual_seed(5);
  std::vector<Tensor> tensors;
  for (const int64_t elements : {0, 3, 9000, 120'001})
    tensors.push_back(placed(at::randn({elements}, torch_type(dtype)), aligned));
  return tensors;
}

TEST(DeviceUpdates, NormsOfEveryKind) {
  const auto infinity = std::numeric_limits<double>::infinity();
  for (const auto& [type, kind] : {std::pair(infinity, NormKind::Max), std::pair(1.0, NormKind::Sum),
                                   std::pair(2.0, NormKind::Squares), std::pair(3.0, NormKind::Powers)})
    for (const auto dtype : {DType::F32, kind == NormKind::Squares ? DType::BF16 : DType::F64}) {
      const bool aligned = dtype != DType::F64;
      const auto tensors = some_tensors(dtype, aligned);
      const auto expected = at::linalg_vector_norm(at::cat(tensors).to(at::kDouble), type).item<double>();
      codegen::cuda::NormEnd end;
      end.multiplier = 0.5;
      end.most = 0.1;
      end.skips = 1;
      const auto control = norm_of(tensors, type, kind, dtype, aligned, end);
      EXPECT_NEAR(control.norm / expected, 0.5, 1e-6) << type << ' ' << ir::name(dtype);
      EXPECT_NEAR(control.scale / (0.5 * 0.1 / (control.norm + 1e-6)), 1, 1e-12);
      EXPECT_EQ(control.narrow_scale, static_cast<float>(control.scale));
      EXPECT_EQ(control.skip, 0);
    }
}

TEST(DeviceUpdates, FindsWhatIsNotFinite) {
  for (const auto bad : {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    auto tensors = some_tensors(DType::F32, true);
    tensors[3][119'000] = bad;
    codegen::cuda::NormEnd end;
    end.skips = 1;
    const float divisor = 4;
    end.divisor = &divisor;
    auto control = norm_of(tensors, 2, NormKind::Squares, DType::F32, true, end);
    EXPECT_EQ(control.skip, 1);
    EXPECT_EQ(std::isnan(control.norm), std::isnan(bad));
    EXPECT_EQ(control.scale, 0.25);
    end.skips = 0;
    end.known = 4;
    control = norm_of(tensors, 0, NormKind::Max, DType::F32, true, end);
    EXPECT_EQ(control.skip, 0);
    EXPECT_EQ(control.norm, 4);
  }
}

TEST(DeviceUpdates, NvrtcCompilesTheText) {
  namespace cuda = toolchain::cuda;
  if (!cuda::nvrtc().problem.empty()) GTEST_SKIP() << "missing: libnvrtc (" << cuda::nvrtc().problem << ")";
  std::vector<std::string> sources;
  for (const auto dtype : {DType::F32, DType::F64, DType::BF16})
    for (const bool vectors : {true, false}) {
      for (auto method : {Method::Sgd, Method::AdamW, Method::RmsProp, Method::Lion, Method::NAdam})
        sources.push_back(text_of(formula_of(method, dtype), false, vectors).text);
      auto formula = formula_of(Method::Adam, dtype);
      formula.scales = formula.amsgrad = formula.averages = true;
      sources.push_back(text_of(formula, true, vectors).text);
      for (const auto kind : {NormKind::Max, NormKind::Sum, NormKind::Squares, NormKind::Powers})
        sources.push_back(codegen::cuda::norm_source(kTableFunction, kind, dtype, vectors).text);
    }
  sources.push_back(codegen::cuda::norm_end_source(kTableFunction));
  for (auto& source : sources) source = codegen::cuda::for_device(source);
  for (const auto& object :
       toolchain::compile_all(*cuda::nvrtc_toolchain(), sources, toolchain::CudaArch{90}))
    EXPECT_EQ(std::ranges::count(object.symbols, kTableFunction), 1);
}

}  // namespace
}  // namespace antegrad::optim
