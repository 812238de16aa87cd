// Gradients of packaged functions: which of them a package has.
#include <tuple>

#include "package_scene.h"

namespace {
using namespace antegrad;
using namespace antegrad::test;

TEST(PackageGradients, HasAsManyDerivativesAsAskedFor) {
  const auto weight = torch::randn({3}, torch::kDouble).set_requires_grad(true);
  auto energy =
      antegrad::compile([weight](const at::Tensor& x) { return (torch::sin(x) * weight).pow(3).sum(); });
  const auto x = torch::randn({3}, torch::kDouble).set_requires_grad(true);
  energy(x);
  PackageFile once("once"), twice("twice");
  package(once.path(), {{"energy", energy}}, {.names = {{"weight", weight}}});
  package(twice.path(), {{"energy", energy, 2}}, {.names = {{"weight", weight}}});
  const auto forces_training = [&](const auto& function, const at::Tensor& w) {
    const auto forces = torch::autograd::grad({function(x)}, {x}, {}, true, true)[0];
    return torch::autograd::grad({forces.pow(2).sum()}, {x, w});
  };
  const auto expected = forces_training(energy, weight);
  const auto loaded = Package::load(twice.path(), {.strict = true});
  const auto got = forces_training(tensor_function(loaded.function("energy")), loaded.weight("weight"));
  for (size_t i = 0; i < 2; ++i)
    EXPECT_TRUE(torch::allclose(got[i], expected[i], 1e-12)) << got[i] << expected[i];
  const auto third = error_of(
      [&] {
        const auto first =
            torch::autograd::grad({tensor_function(loaded.function("energy"))(x)}, {x}, {}, true, true)[0];
        torch::autograd::grad({first.sum()}, {x}, {}, true, true);
      },
      ErrorCode::NeedsGrad);
  EXPECT_NE(third.find("derivatives"), third.npos) << third;
  const auto less = Package::load(once.path(), {.strict = true});
  const auto text =
      error_of([&] { forces_training(tensor_function(less.function("energy")), less.weight("weight")); },
               ErrorCode::NeedsGrad);
  EXPECT_NE(text.find("the package has no further derivatives of version 0 of 'energy'"), text.npos) << text;
}

// Tangents of sums are expanded, and those of squares have histories.
TEST(PackageGradients, HasSecondDerivativesForAnyTangents) {
  auto energies = antegrad::compile([](const at::Tensor& x) { return std::tuple(x.sin().t(), x.pow(3)); });
  const auto x = torch::randn({3, 2}, torch::kDouble).set_requires_grad(true);
  energies(x);
  PackageFile file;
  package(file.path(), {{"energies", energies, 2}});
  const auto loaded = Package::load(file.path(), {.strict = true});
  const auto packaged = [function = loaded.function("energies")](const at::Tensor& x) {
    const auto results = function(x).toTupleRef().elements();
    return std::tuple(results[0].toTensor(), results[1].toTensor());
  };
  for (const bool squares : {false, true}) {
    const auto second = [&](const auto& function) {
      const auto [a, b] = function(x);
      const auto sum = squares ? a.square().sum() + b.square().sum() : a.sum() + b.sum();
      const auto first = torch::autograd::grad({sum}, {x}, {}, true, true)[0];
      return torch::autograd::grad({first.pow(2).sum()}, {x})[0];
    };
    EXPECT_TRUE(torch::allclose(second(packaged), second(energies), 1e-12)) << squares;
  }
}

TEST(PackageGradients, RefusesResultsThatWereNotDifferentiatedAlone) {
  auto compiled =
      antegrad::compile([](const at::Tensor& x) { return std::make_tuple(torch::sin(x), torch::exp(x)); });
  auto x = torch::randn({3}).set_requires_grad(true);
  compiled(x);
  PackageFile file;
  package(file.path(), {{"pair", compiled}});
  const auto first = [&](const PackageLoad& load) {
    const auto pair = Package::load(file.path(), load).function("pair");
    return torch::autograd::grad({pair(x).toTupleRef().elements()[0].toTensor().sum()}, {x})[0];
  };
  const auto text = error_of([&] { first({.strict = true}); }, ErrorCode::CacheMiss);
  EXPECT_NE(text.find("no pass in the file computes these gradients of these results"), text.npos) << text;
  EXPECT_TRUE(torch::allclose(first({}), torch::cos(x)));
}

}  // namespace
