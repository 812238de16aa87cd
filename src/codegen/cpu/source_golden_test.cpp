// The complete C text of typical kernels, in tests/data/source/<name>.c. With ANTEGRAD_UPDATE_GOLDEN=1 in the
// environment the files are rewritten; review the diff. The prelude is not part of them.
#include <gtest/gtest.h>

#include <algorithm>

#include "codegen/cpu/kernel_source.h"
#include "graph/golden.h"
#include "kernels/sample_kernels.h"

namespace antegrad::codegen::cpu {
namespace {

using ir::Dim;
using ir::DType;
using schedule::Combine;
using schedule::Kernel;
namespace samples = schedule::samples;

std::vector<Kernel> kernels() {
  auto doubles = samples::row_reduce(4, 5000, Combine::Sum, DType::F64);
  doubles.name += "_f64";
  return {samples::pointwise(1000),
          samples::row_reduce(Dim::symbol(0), Dim::symbol(1) * 2, Combine::Sum),
          doubles,
          samples::softmax(128, 1000),
          samples::layer_norm(64, 768, 768),
          samples::layer_norm_backward(64, 768, 768, 8),
          samples::full_sum(100000, 16),
          samples::middle_softmax(4, 100, 200),
          samples::gather_rows(Dim::symbol(0), Dim::symbol(1), 64),
          samples::scatter_rows(1000, 50, 64),
          samples::dropout(5000)};
}

class SourceGolden : public ::testing::TestWithParam<Kernel> {};

TEST_P(SourceGolden, IsAsInTheFile) {
  const auto path =
      std::filesystem::path(ANTEGRAD_SOURCE_DIR) / "tests/data/source" / (GetParam().name + ".c");
  const auto text = kernel_source(GetParam());
  if (updating_golden()) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
  }
  EXPECT_EQ(text, read_text(path)) << path;
}

INSTANTIATE_TEST_SUITE_P(Kernels, SourceGolden, ::testing::ValuesIn(kernels()),
                         [](const auto& info) { return info.param.name; });

TEST(UnitSource, IsTheSameEveryTimeAndHasEachFunctionOnce) {
  const auto first = samples::softmax(4, 8), second = samples::middle_softmax(2, 3, 70);
  const auto text = unit_source({&first, &second});
  EXPECT_EQ(text, unit_source({&first, &second}));
  const auto count = [&](const std::string& part) {
    size_t found = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(count("float ag_exp_f32(float"), 1U);
  EXPECT_EQ(count("ag_tanh_f32"), 0U);
  EXPECT_EQ(count("int64_t softmax("), 1U);
  EXPECT_EQ(text.find("#include"), std::string::npos);
}

TEST(UnitSource, CommentsCannotEndEarly) {
  auto kernel = samples::scale(8);
  kernel.text = "a path \\\nint evil; */ /* \\";
  const auto text = kernel_source(kernel);
  EXPECT_TRUE(text.starts_with("// a path\n// int evil; */ /*\n")) << text;
}

}  // namespace
}  // namespace antegrad::codegen::cpu
