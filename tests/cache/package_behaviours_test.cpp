// Rows PKG of docs/behaviours.txt that the other tests of packages do not show.
#include <atomic>
#include <thread>
#include <tuple>

#include "package_scene.h"

namespace {
using namespace antegrad;
using namespace antegrad::test;

/// Packages a function and loads it again, from a file that no longer exists when the function runs.
template <class C>
PackagedFunction through_a_file(const C& compiled, const PackageOptions& options = {}) {
  PackageFile file;
  package(file.path(), {{"f", compiled}}, options);
  return Package::load(file.path(), {.strict = true}).function("f");
}

// PKG-01, PKG-02
TEST(PackageBehaviours, AddAndLinearGiveTheResultsOfEager) {
  const auto a = torch::randn({8, 10}), b = torch::randn({8, 10});
  auto add = antegrad::compile([](const at::Tensor& x, const at::Tensor& y) { return x + y; });
  add(a, b);
  EXPECT_TRUE(torch::equal(through_a_file(add)(a, b).toTensor(), a + b));

  torch::nn::Linear linear(10, 3);
  auto compiled = antegrad::compile(linear.ptr());
  compiled(a);
  EXPECT_TRUE(torch::allclose(through_a_file(compiled)(a).toTensor(), linear(a)));
}

// PKG-04
TEST(PackageBehaviours, FunctionsHaveNames) {
  auto twice = antegrad::compile([](const at::Tensor& x) { return x * 2; });
  auto thrice = antegrad::compile([](const at::Tensor& x) { return x * 3; });
  const auto x = torch::randn({4});
  twice(x), thrice(x);
  PackageFile file;
  package(file.path(), {{"twice", twice}, {"thrice", thrice}, {"again", twice}});
  const auto loaded = Package::load(file.path(), {.strict = true});
  EXPECT_EQ(loaded.functions(), (std::vector<std::string>{"twice", "thrice", "again"}));
  EXPECT_TRUE(torch::equal(loaded.function("twice")(x).toTensor(), x * 2));
  EXPECT_TRUE(torch::equal(loaded.function("thrice")(x).toTensor(), x * 3));
  EXPECT_TRUE(torch::equal(loaded.function("again")(x).toTensor(), x * 2));
}

// ERR-32
TEST(PackageBehaviours, UnknownAndInvalidNamesAreNamedInTheError) {
  auto compiled = antegrad::compile([](const at::Tensor& x) { return x * 2; });
  compiled(torch::ones({2}));
  PackageFile file;
  package(file.path(), {{"twice", compiled}});
  const auto loaded = Package::load(file.path());
  const auto unknown = error_of([&] { loaded.function("double"); }, ErrorCode::InvalidArgument);
  EXPECT_NE(unknown.find("\"double\""), unknown.npos) << unknown;
  const auto invalid = error_of(
      [&] {
        package(file.path(), {{"a/b", compiled}});
      },
      ErrorCode::InvalidArgument);
  EXPECT_NE(invalid.find("\"a/b\""), invalid.npos) << invalid;
}

// PKG-05: readable without a call; machine and instruction sets are those of the kernels.
TEST(PackageBehaviours, FactsCanBeReadWithoutACall) {
  auto compiled = antegrad::compile([](const at::Tensor& x) { return x * 2; });
  compiled(torch::ones({2}));
  PackageFile file;
  package(file.path(), {{"twice", compiled}}, {.metadata = {{"task", "segmentation"}, {"epoch", "12"}}});
  const auto info = Package::load(file.path()).info();
  EXPECT_EQ(info.metadata, (std::map<std::string, std::string>{{"task", "segmentation"}, {"epoch", "12"}}));
  EXPECT_EQ(info.machine, "x86_64");
  EXPECT_EQ(info.libtorch.rfind("2.11", 0), 0u) << info.libtorch;
}

// PKG-08
TEST(PackageBehaviours, BoolsAndListsOfIntegersAreThoseOfTheExample) {
  auto compiled = antegrad::compile([](const at::Tensor& x, bool negate, const std::vector<int64_t>& sizes) {
    return (negate ? -x : x).reshape(sizes);
  });
  const auto x = torch::randn({6});
  const std::vector<int64_t> sizes{2, 3};
  compiled(x, true, sizes);
  PackageFile file;
  package(file.path(), {{"f", compiled}});
  const auto function = Package::load(file.path(), {.strict = true}).function("f");
  EXPECT_TRUE(torch::equal(function(x, true, sizes).toTensor(), -x.reshape(sizes)));
  EXPECT_TRUE(torch::equal(function.call_tensors({x})[0], -x.reshape(sizes)));
  EXPECT_NE(error_of([&] { function(x, false, sizes); }, ErrorCode::InvalidArgument), "");
  EXPECT_NE(error_of([&] { function(x, true, std::vector<int64_t>{3, 2}); }, ErrorCode::InvalidArgument), "");
}

// PKG-12
TEST(PackageBehaviours, NoArgumentsEmptyWeightsAndConstantsWork) {
  const auto weight = torch::randn({3, 4}), empty = torch::zeros({0, 4});
  auto without = antegrad::compile([=] { return weight.sin() + 1; });
  without();
  EXPECT_TRUE(torch::allclose(through_a_file(without)().toTensor(), weight.sin() + 1));

  auto with_empty = antegrad::compile([=](const at::Tensor& x) { return torch::cat({x, empty}) * 2; });
  with_empty(weight);
  EXPECT_TRUE(torch::equal(through_a_file(with_empty)(weight).toTensor(), weight * 2));

  auto constant =
      antegrad::compile([=](const at::Tensor& x) { return std::make_tuple(x + 1, weight, weight.t()); });
  constant(weight);
  PackageFile file;
  package(file.path(), {{"f", constant}});
  const auto loaded = Package::load(file.path(), {.strict = true});
  const auto results = loaded.function("f")(weight).toTupleRef().elements();
  EXPECT_TRUE(results[1].toTensor().is_same(loaded.weights()[0].second));
  EXPECT_TRUE(torch::equal(results[2].toTensor(), weight.t()));
  EXPECT_EQ(results[2].toTensor().data_ptr(), results[1].toTensor().data_ptr());
}

// PKG-13
TEST(PackageBehaviours, ResultsThatShareMemoryKeepSharingIt) {
  auto compiled = antegrad::compile([](const at::Tensor& x) {
    auto y = x * 2;
    return std::vector<at::Tensor>{y, y, y.view({-1}), y.t(), y.t().contiguous()};
  });
  const auto x = torch::randn({3, 4});
  compiled(x);
  const auto results = through_a_file(compiled)(x).toTensorVector();
  EXPECT_TRUE(results[0].is_same(results[1]));
  EXPECT_EQ(results[0].data_ptr(), results[2].data_ptr());
  EXPECT_EQ(results[0].data_ptr(), results[3].data_ptr());
  EXPECT_NE(results[0].data_ptr(), results[4].data_ptr());
  EXPECT_TRUE(torch::equal(results[4], x.t() * 2));
}

// PKG-16
TEST(PackageBehaviours, InputsMayBeginAnywhere) {
  const auto memory = torch::randn({65});
  const auto aligned = memory.narrow(0, 0, 64), misaligned = memory.narrow(0, 1, 64);
  for (const auto& example : {aligned, misaligned}) {
    auto compiled = antegrad::compile([](const at::Tensor& x) { return x.sin() + x; });
    compiled(example);
    const auto function = through_a_file(compiled);
    for (const auto& x : {aligned, misaligned})
      EXPECT_TRUE(torch::allclose(function(x).toTensor(), x.sin() + x));
  }
}

// PKG-24, PKG-26, PKG-27
TEST(PackageBehaviours, WeightsKeepNamesTypesAndOffsets) {
  SmallNet net;
  const auto table = torch::arange(12).to(torch::kDouble), part = table.slice(0, 4, 8);
  auto compiled =
      antegrad::compile([&](const at::Tensor& x) { return net.forward(x).to(torch::kDouble) + part; });
  const auto x = torch::randn({1, 4});
  const auto expected = compiled(x);
  PackageOptions options;
  options.name_weights(net, "model.");
  options.names.emplace_back("input_0", part);  // as a generated name might be
  PackageFile file;
  package(file.path(), {{"f", compiled}}, options);
  const auto loaded = Package::load(file.path(), {.strict = true});
  std::map<std::string, at::ScalarType> types;
  for (const auto& [name, tensor] : loaded.weights()) types[name] = tensor.scalar_type();
  EXPECT_EQ(types, (std::map<std::string, at::ScalarType>{{"input_0", torch::kDouble},
                                                          {"model.first.bias", torch::kFloat},
                                                          {"model.first.weight", torch::kFloat},
                                                          {"model.second.bias", torch::kFloat},
                                                          {"model.second.weight", torch::kFloat}}));
  EXPECT_TRUE(torch::equal(loaded.weight("input_0"), part));
  EXPECT_TRUE(torch::equal(loaded.function("f")(x).toTensor(), expected));
}

// PKG-23, PKG-28, PKG-29: some weights, all, and back to the first ones.
TEST(PackageBehaviours, ReplacedWeightsCountFromTheNextCall) {
  const auto a = torch::randn({4}), b = torch::randn({4}), x = torch::randn({4});
  auto compiled = antegrad::compile([=](const at::Tensor& x) { return x * a + b; });
  compiled(x);
  PackageFile file;
  package(file.path(), {{"f", compiled}}, {.names = {{"a", a}, {"b", b}}});
  const auto loaded = Package::load(file.path(), {.strict = true});
  const auto function = tensor_function(loaded.function("f"));
  const auto first = loaded.weights();
  auto other = torch::randn({4});
  loaded.replace({{"a", other}});
  EXPECT_TRUE(torch::allclose(function(x), x * other + b));
  other.mul_(2);  // used in place
  EXPECT_TRUE(torch::allclose(function(x), x * other + b));
  loaded.replace({{"a", b}, {"b", other}});
  EXPECT_TRUE(torch::allclose(function(x), x * b + other));
  loaded.replace(first);
  EXPECT_TRUE(torch::allclose(function(x), x * a + b));
}

// ERR-31: nothing is replaced when one of the tensors does not fit.
TEST(PackageBehaviours, WrongWeightsReplaceNone) {
  const auto a = torch::randn({4}), b = torch::randn({4}), x = torch::randn({4});
  auto compiled = antegrad::compile([=](const at::Tensor& x) { return x * a + b; });
  compiled(x);
  PackageFile file;
  package(file.path(), {{"f", compiled}}, {.names = {{"a", a}, {"b", b}}});
  const auto loaded = Package::load(file.path(), {.strict = true});
  const auto text = error_of(
      [&] {
        loaded.replace({{"a", torch::zeros({4})}, {"b", torch::zeros({4}, at::kMeta)}});
      },
      ErrorCode::InvalidArgument);
  EXPECT_NE(text.find("\"b\""), text.npos) << text;
  EXPECT_TRUE(torch::allclose(tensor_function(loaded.function("f"))(x), x * a + b));
}

// PKG-33: from the first call on.
TEST(PackageBehaviours, FourThreadsMakeTheFirstCallAtOnce) {
  const auto weight = torch::randn({16, 16});
  auto compiled =
      antegrad::compile([=](const at::Tensor& x) { return x.matmul(weight.t().contiguous()).tanh(); });
  const auto x = torch::randn({4, 16}), expected = compiled(x);
  const auto function = through_a_file(compiled);
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int call = 0; call < 20; ++call) right += torch::equal(function(x).toTensor(), expected);
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(right, 80);
}

// ERR-27: what does not hold is named.
TEST(PackageBehaviours, InputsOfOtherTypesAreRefusedBeforeAnythingRuns) {
  auto compiled = antegrad::compile([](at::Tensor x) { return x.add_(1) * 2; });
  compiled(torch::zeros({2, 3}));
  PackageFile file;
  package(file.path(), {{"f", compiled}});
  const auto function = Package::load(file.path(), {.strict = true}).function("f");
  const std::vector<at::Tensor> wrong{torch::zeros({2, 3}, torch::kDouble), torch::zeros({2, 4}),
                                      torch::zeros({3, 2}).t(), torch::zeros({2, 3}, at::kMeta)};
  for (const auto& x : wrong) {
    EXPECT_NE(error_of([&] { function(x); }, ErrorCode::InvalidArgument), "") << x.options() << x.sizes();
    if (!x.is_meta()) {
      EXPECT_EQ(x.abs().sum().item<double>(), 0);
    }
  }
  auto x = torch::zeros({2, 3});
  EXPECT_TRUE(torch::equal(function(x).toTensor(), torch::full({2, 3}, 2.0)));
}

}  // namespace
