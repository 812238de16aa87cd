// Packaged functions whose arguments share memory, or that read more than their arguments show.
#include "package_scene.h"

namespace {
using namespace antegrad;
using namespace antegrad::test;

TEST(PackageViews, ReadsBeyondTheElementsOfATensorOnlyWhereItsStorageReaches) {
  auto beyond = antegrad::compile([](const at::Tensor& x) { return x.as_strided({4}, {1}) + 1; });
  beyond(torch::zeros({4}).slice(0, 0, 2));
  PackageFile file;
  package(file.path(), {{"f", beyond}});
  const auto function = tensor_function(Package::load(file.path(), {.strict = true}).function("f"));
  const auto x = torch::arange(6, torch::kFloat);
  EXPECT_TRUE(torch::equal(function(x.slice(0, 0, 2)), x.slice(0, 0, 4) + 1));
  for (const auto& small : {torch::zeros({2}), torch::zeros({3}).slice(0, 0, 2)})
    EXPECT_NE(error_of([&] { function(small); }, ErrorCode::InvalidArgument), "");
}

TEST(PackageViews, WritesToArgumentsThatAreViewsOfOneTensor) {
  auto compiled = antegrad::compile([](const at::Tensor& a, const at::Tensor& b) {
    a.mul_(2);
    return (a * b).sum();
  });
  PackageFile file;
  for (const int64_t from : {4, 2}) {  // apart, overlapping
    const auto run = [&](const auto& f) {
      auto leaf = torch::linspace(-1, 1, 8).set_requires_grad(true);
      auto base = leaf * 1;
      auto a = base.slice(0, 0, 4), b = base.slice(0, from, from + 4);
      const at::Tensor result = f(a, b);
      auto gradient = torch::autograd::grad({result + (base * base).sum()}, {leaf})[0];
      return std::vector<at::Tensor>{result.detach(), base.detach(), a.detach(), gradient};
    };
    const auto expected = run([](const at::Tensor& a, const at::Tensor& b) {
      a.mul_(2);
      return (a * b).sum();
    });
    run(compiled);
    if (from == 4) package(file.path(), {{"f", compiled}});
    const auto loaded = Package::load(file.path(), {.strict = true});
    const auto packaged = [&](const at::Tensor& a, const at::Tensor& b) {
      return loaded.function("f")(a, b).toTensor();
    };
    if (from == 2) {  // the file has no version for that
      EXPECT_NE(error_of([&] { run(packaged); }, ErrorCode::InvalidArgument), "");
      continue;
    }
    const auto got = run(packaged);
    for (size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(torch::allclose(got[i], expected[i])) << i;
  }
}

}  // namespace
