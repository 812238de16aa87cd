// What Options::freeze refuses.
#include <antegrad/optim.h>
#include <antegrad/package.h>

#include "cache/package_scene.h"
#include "error/expect_error.h"
#include "support/frozen.h"

namespace antegrad::test {
namespace {

using at::Tensor;

TEST(FreezeErrors, GradientsOfConstants) {
  const auto weight = torch::randn({3}).requires_grad_();
  const auto x = torch::ones({3});
  const auto function = [&](const Tensor& x) { return x * weight.exp(); };
  const auto compiled = compile(function, frozen());
  expect_error(ErrorCode::NeedsGrad, "compile", "Options::freeze makes captured tensors constants",
               {weight, x}, [&] { compiled(x); });
  auto options = frozen();
  options.unsupported = Unsupported::Eager;
  EXPECT_TRUE(compile(function, options)(x).requires_grad()) << "runs uncompiled";
  const torch::NoGradGuard no_grad;
  EXPECT_TRUE(at::allclose(compiled(x), function(x)));
}

TEST(FreezeErrors, Packages) {
  const auto weight = torch::randn({3});
  auto compiled = compile([&](const Tensor& x) { return x * weight.exp(); }, frozen());
  compiled(torch::ones({3}));
  const PackageFile file("frozen");
  expect_error(ErrorCode::InvalidArgument, "package", "constants of its code (Options::freeze)", {weight},
               [&] {
                 package(file.path(), {{"f", compiled}});
               });
}

TEST(FreezeErrors, TrainingSteps) {
  torch::optim::SGD optimizer({torch::ones({2}).requires_grad_()}, 0.1);
  StepOptions options;
  options.options.freeze = true;
  expect_error(ErrorCode::InvalidArgument, "options", "Options::freeze is set, which is for inference", {},
               [&] { compiled_step(optimizer, options); });
}

}  // namespace
}  // namespace antegrad::test
