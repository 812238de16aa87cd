// What cache keys depend on, and what they do not depend on.
#include <ATen/autocast_mode.h>

#include "cache_fixture.h"

namespace antegrad::test {
namespace {

using at::Tensor;
using CacheKeys = CacheTest;

template <class F, class... Args>
std::string key_of(const F& function, const Options& options, const Args&... args) {
  const auto compiled = compile(function, options);
  compiled(args...);
  return compiled.report().cache_keys.at(0);
}

Tensor chain(const Tensor& x) { return (x.sin() + 1).exp(); }

// AOC-11
TEST_F(CacheKeys, AreEqualForEqualPrograms) {
  const auto x = torch::randn({4, 5});
  EXPECT_EQ(key_of(chain, {}, x), key_of(chain, {}, torch::randn({4, 5})));
  EXPECT_EQ(key_of(chain, {}, x).size(), 64u);
}

// AOC-12, GCC-11
TEST_F(CacheKeys, DependOnProgramAndTypes) {
  const auto x = torch::randn({4, 5});
  const auto key = key_of(chain, {}, x);
  EXPECT_NE(key, key_of([](const Tensor& y) { return (y + 1).sin().exp(); }, {}, x));
  Options fixed;
  fixed.dynamic = Dynamic::None;
  const auto fixed_key = key_of(chain, fixed, x);
  EXPECT_NE(fixed_key, key_of(chain, fixed, torch::randn({4, 6})));
  EXPECT_NE(fixed_key, key_of(chain, fixed, torch::randn({5, 4}).t()));
  EXPECT_NE(fixed_key, key_of(chain, fixed, x.to(torch::kDouble)));
  EXPECT_NE(fixed_key, key_of(chain, fixed, x.clone().set_requires_grad(true)));
}

// GCC-11, AOC-22
TEST_F(CacheKeys, DoNotDependOnOffsetsNorNames) {
  const auto key = key_of(chain, {}, torch::randn({4, 5}));
  EXPECT_EQ(key, key_of(chain, {}, torch::randn({8, 5}).slice(0, 3, 7)));
  Options named;
  named.name = "another";
  EXPECT_EQ(key, key_of(chain, named, torch::randn({4, 5})));
  const auto scoped = [](const Tensor& x) {
    const Scope scope("somewhere");
    return chain(x);
  };
  EXPECT_EQ(key, key_of(scoped, {}, torch::randn({4, 5})));
}

// AOC-21
TEST_F(CacheKeys, DependOnScopesWhereRulesDo) {
  const auto scoped = [](const char* name) {
    return [name](const Tensor& x) {
      const Scope scope(name);
      return chain(x);
    };
  };
  Options options;
  options.scope_rules = {{"a", Keep::Recompute}};
  const auto x = torch::randn({4, 5}).set_requires_grad(true);
  EXPECT_NE(key_of(scoped("a"), options, x), key_of(scoped("b"), options, x));
}

// AOC-13, GCC-14
TEST_F(CacheKeys, DependOnOptionsThatChangeCode) {
  const auto x = torch::randn({4, 5}).set_requires_grad(true);
  std::vector<std::string> keys = {key_of(chain, {}, x)};
  const auto with = [&](auto change) {
    Options options;
    change(options);
    keys.push_back(key_of(chain, options, x));
  };
  with([](Options& options) { options.backend = Backend::NoFuse; });
  with([](Options& options) { options.backend = Backend::Eager; });
  with([](Options& options) { options.rng = Rng::Eager; });
  with([](Options& options) { options.policy = SaveAll{}; });
  with([](Options& options) { options.policy = RecomputeAll{}; });
  with([](Options& options) { options.policy = MemoryBudget::fraction(0.25); });
  with([](Options& options) { options.policy = MemoryBudget::fraction(0.5); });
  with([](Options& options) { options.writable_inputs = true; });
  with([](Options& options) { options.freeze = true; });
  with([](Options& options) { options.disabled_passes = {"dead_code"}; });
  with([](Options& options) { options.scope_rules = {{"a", Keep::Save}}; });
  with([](Options& options) { options.isa = Isa::Baseline; });
  with([](Options& options) { options.toolchain = ToolchainChoice::System; });
  with([](Options& options) { options.cache_tag = "mine"; });  // GCC-02
  with([](Options& options) { options.dynamic = Dynamic::All; });
  const auto count = keys.size();
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(std::unique(keys.begin(), keys.end()) - keys.begin(), static_cast<ptrdiff_t>(count));
}

// AOC-14, GCC-13
TEST_F(CacheKeys, DoNotDependOnOptionsThatDoNot) {
  const auto x = torch::randn({4, 5}).set_requires_grad(true);
  const auto key = key_of(chain, {}, x);
  const auto same = [&](auto change) {
    Options options;
    change(options);
    EXPECT_EQ(key, key_of(chain, options, x));
  };
  same([](Options& options) { options.max_versions = 3; });
  same([](Options& options) { options.verify = true; });
  same([](Options& options) { options.backward_ahead = true; });
  same([](Options& options) { options.unsupported = Unsupported::Eager; });
  same([](Options& options) { options.check_recapture = true; });
  same([](Options& options) { options.max_sizes = 3; });
  const auto with_passes = [&](std::vector<std::string> names) {
    Options options;
    options.disabled_passes = std::move(names);
    return key_of(chain, options, x);
  };
  EXPECT_EQ(with_passes({"dead_code", "remove_noop"}),
            with_passes({"remove_noop", "dead_code", "dead_code"}));
}

// AOC-13
TEST_F(CacheKeys, DependOnGradMode) {
  const auto x = torch::randn({4, 5});
  const auto key = key_of(chain, {}, x);
  torch::NoGradGuard no_grad;
  EXPECT_NE(key, key_of(chain, {}, x));
}

// AOC-15
TEST_F(CacheKeys, AutocastTypesHaveEntriesOfTheirOwn) {
  const auto product = [](const Tensor& x) { return at::mm(x, x); };
  const auto x = torch::randn({8, 8});
  for (const bool known : {false, true})
    for (const auto dtype : {at::kBFloat16, at::kHalf}) {
      at::autocast::set_autocast_enabled(at::kCPU, true);
      at::autocast::set_autocast_dtype(at::kCPU, dtype);
      const auto compiled = compile(product);
      const auto value = compiled(x);
      at::autocast::clear_cache();
      at::autocast::set_autocast_enabled(at::kCPU, false);
      EXPECT_EQ(value.scalar_type(), dtype);
      EXPECT_EQ(compiled.report().cache, known ? counts(1, 0) : counts(0, 1));
    }
  at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
}

// GCC-12
TEST_F(CacheKeys, DependOnValuesOfConstants) {
  const auto with = [](double value) {
    return [value](const Tensor& x) { return x + torch::tensor({value, 2.0, 3.0}); };
  };
  const auto x = torch::randn({3});
  EXPECT_EQ(key_of(with(1), {}, x), key_of(with(1), {}, x));
  EXPECT_NE(key_of(with(1), {}, x), key_of(with(4), {}, x));
  const auto scaled = [](double value) { return [value](const Tensor& y) { return y * value; }; };
  EXPECT_NE(key_of(scaled(1.5), {}, x), key_of(scaled(2.5), {}, x));
}

// GCC-18
TEST_F(CacheKeys, TheDefaultTypeCounts) {
  const auto make = [](const Tensor& x) { return torch::ones({3}) + x.to(torch::kDouble); };
  const auto x = torch::randn({3}, torch::kFloat);
  const auto key = key_of(make, {}, x);
  torch::set_default_dtype(caffe2::TypeMeta::Make<double>());
  EXPECT_NE(key, key_of(make, {}, x));
  torch::set_default_dtype(caffe2::TypeMeta::Make<float>());
}

struct Twice : torch::autograd::Function<Twice> {
  static Tensor forward(torch::autograd::AutogradContext* context, const Tensor& x, double factor) {
    context->saved_data["factor"] = factor;
    return x * 2;
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    return {gradients[0] * context->saved_data["factor"].toDouble(), Tensor()};
  }
};

// AOC-16
TEST_F(CacheKeys, BodiesOfCustomFunctionsCount) {
  const auto with = [](double factor) {
    return [factor](const Tensor& x) { return Twice::apply(x, factor); };
  };
  const auto x = torch::randn({3}).set_requires_grad(true);
  EXPECT_EQ(key_of(with(2), {}, x), key_of(with(2), {}, x));
  EXPECT_NE(key_of(with(2), {}, x), key_of(with(3), {}, x));
}

}  // namespace
}  // namespace antegrad::test
