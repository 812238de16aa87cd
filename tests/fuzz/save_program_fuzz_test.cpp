// Random programs as .pt2 files, read back and run op by op: results are eager's, bit for bit. Gradients are
// compared when a file is written.
#include <ATen/Parallel.h>
#include <antegrad/antegrad.h>
#include <antegrad/program.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "fuzz/fusion_program.h"
#include "support/seeds.h"
#include "support/temporary.h"

namespace antegrad::fuzz {
namespace {

const int kSaveThreads = (at::set_num_threads(1), at::get_num_threads());

bool same_bits(const at::Tensor& a, const at::Tensor& b) {
  if (a.sizes() != b.sizes() || a.scalar_type() != b.scalar_type()) return false;
  if (!a.is_floating_point() && !a.is_complex()) return at::equal(a, b);
  const auto nan = at::isnan(a);
  return at::equal(nan, at::isnan(b)) && at::equal(a.masked_fill(nan, 0), b.masked_fill(nan, 0));
}

/// Some ops have no derivative, or one that fails for some dtypes.
bool differentiable_in_eager(const FusionProgram& program, const Tensors& inputs) {
  try {
    for (const auto& result : run(program, inputs))
      if (result.requires_grad()) torch::autograd::backward({result}, {torch::ones_like(result)});
    return true;
  } catch (const c10::Error&) {
    return false;
  }
}

/// Returns what is wrong with one program, or nothing.
std::string check_saved(uint64_t seed, const std::string& file) {
  const auto program = generate_fusion(seed);
  auto inputs = inputs_of(program);
  for (auto& input : inputs) {
    input = input.detach();
    if (seed % 2 == 0 && (input.is_floating_point() || input.is_complex())) input.requires_grad_();
  }
  const auto function = compile([&](const Tensors& arguments) { return run(program, arguments); });
  try {
    if (differentiable_in_eager(program, inputs)) {
      save_program(function, file, inputs);
    } else {
      const torch::NoGradGuard no_grad;
      save_program(function, file, inputs);
    }
    const auto loaded = load_program(file);
    const torch::NoGradGuard no_grad;
    const auto result = loaded({inputs.begin(), inputs.end()});
    const auto expected = run(program, inputs);
    Leaves leaves;
    flatten(result, leaves);
    if (leaves.tensors.size() != expected.size()) return "another number of results";
    for (size_t i = 0; i < expected.size(); ++i)
      if (!same_bits(expected[i].detach(), leaves.tensors[i])) return c10::str("result ", i, " differs");
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

TEST(SaveProgramFuzz, FilesGiveTheResultsOfTheFunction) {
  const auto file = test::temporary_path("fuzz.pt2");
  for (uint64_t seed = 0; seed < 150; ++seed) {
    const auto wrong = check_saved(seed + 1000 * test::test_seed(), file);
    EXPECT_EQ(wrong, "") << to_string(generate_fusion(seed + 1000 * test::test_seed()));
  }
}

}  // namespace
}  // namespace antegrad::fuzz
