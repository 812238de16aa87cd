// What is saved for the backward pass and what is recomputed changes memory and time, never a result.
#include "cpu/training/training_nets.h"
#include "support/intercept.h"

namespace antegrad::test {
namespace {

struct NamedOptions {
  std::string name;
  Options options;
};
void PrintTo(const NamedOptions& named, std::ostream* out) { *out << named.name; }

Options with_policy(const Policy& policy) {
  Options options;
  options.policy = policy;
  return options;
}

std::vector<NamedOptions> all_policies() {
  const auto by_name = [](const Candidate& value) {
    return value.op.find("native_layer_norm") != std::string::npos ? Keep::Recompute : Keep::Auto;
  };
  auto ahead = with_policy(MinCut{});
  ahead.backward_ahead = true;
  return {{"MinCut", with_policy(MinCut{})},
          {"SaveAll", with_policy(SaveAll{})},
          {"RecomputeAll", with_policy(RecomputeAll{})},
          {"HalfTheMemory", with_policy(MemoryBudget::fraction(0.5))},
          {"LeastMemory", with_policy(MemoryBudget::fraction(0))},
          {"UserPolicy", with_policy(UserPolicy{"norms again", by_name})},
          {"BackwardAhead", ahead}};
}

class TrainingPolicies : public ::testing::TestWithParam<NamedOptions> {
 protected:
  Options options(Rng rng) const {
    auto options = GetParam().options;
    options.rng = rng;
    options.verify = true;
    return options;
  }
};

TEST_P(TrainingPolicies, Mlp) { expect_equal_training<Mlp>(options(Rng::Fused)); }
TEST_P(TrainingPolicies, Convolutions) {
  expect_equal_training<ConvolutionsWithDropout>(options(Rng::Eager));
}
TEST_P(TrainingPolicies, Transformer) { expect_equal_training<GptTraining>(options(Rng::Fused)); }
TEST_P(TrainingPolicies, ForceMatching) { expect_equal_training<ForceMatching>(options(Rng::Fused)); }

/// Fused random numbers are not eager's, but depend only on the seed, whatever is recomputed.
TEST_P(TrainingPolicies, FusedRandomNumbers) {  // RNG-06
  at::set_num_threads(1);
  Options default_options;
  auto expected = seeded_program<ConvolutionsWithDropout>(Way::Compiled, default_options);
  auto actual = seeded_program<ConvolutionsWithDropout>(Way::Compiled, options(Rng::Fused));
  uint64_t run = 0;
  Comparisons comparisons([&](Comparisons& seen) {
    const Interception nobody(nullptr);  // compiled code has no ops to perturb: perturbs weights
    auto disturbed = seeded_program<ConvolutionsWithDropout>(Way::Compiled, default_options);
    auto chance = at::detail::createCPUGenerator(++run);
    for (const auto& weight : disturbed->parameters()) {
      const at::NoGradGuard no_grad;
      const auto off = 2 * at::rand(weight.sizes(), chance, weight.options()) - 1;
      weight.mul_(1 + 16 * epsilon_of(weight.scalar_type()) * off);
    }
    record_steps(*disturbed, seen);
  });
  expect_equal_steps(*expected, *actual, comparisons);
}

INSTANTIATE_TEST_SUITE_P(All, TrainingPolicies, ::testing::ValuesIn(all_policies()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace antegrad::test
