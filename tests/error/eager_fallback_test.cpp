// Options::unsupported = Eager: functions that cannot be captured run uncompiled, and the report counts them.
#include "error/expect_error.h"
#include "support/seeds.h"

namespace antegrad::test {
namespace {

using at::Tensor;

Options eager() {
  Options options;
  options.unsupported = Unsupported::Eager;
  return options;
}

/// Runs the function three times: results and inputs are eager's, and each call is counted.
template <class F>
void expect_eager(const std::string& reason, const F& function, const Tensor& x) {
  SCOPED_TRACE(reason);
  auto compiled = compile(function, eager());
  auto mine = x.clone();
  auto expected = x.clone();
  for (uint64_t call = 1; call < 4; ++call) {
    test::manual_seed(5);
    auto actual = compiled(mine);
    test::manual_seed(5);
    auto wanted = function(expected);
    EXPECT_TRUE(at::equal(actual, wanted));
    EXPECT_TRUE(at::equal(mine, expected));
    EXPECT_EQ(mine._version(), expected._version());
    EXPECT_EQ(compiled.report().eager_calls, call);
    EXPECT_EQ(compiled.report().calls, call);
  }
  const auto reasons = compiled.report().eager_reasons;
  ASSERT_EQ(reasons.size(), 1U);
  EXPECT_EQ(reasons[0].rfind(reason, 0), 0U) << reasons[0];
  EXPECT_TRUE(has_the_form(reasons[0])) << reasons[0];
  EXPECT_EQ(compiled.graph(), "");
}

TEST(EagerFallback, EachKindOfFunction) {
  auto x = torch::rand({4});
  expect_eager(
      "[capture:aten._local_scalar_dense]",
      [](const Tensor& a) {
        a.add_(1);
        return a * a.sum().item<float>();
      },
      x);
  expect_eager(
      "[capture:data_ptr]",
      [](const Tensor& a) {
        a.data_ptr<float>()[0] = 7;
        return a + 1;
      },
      x);
  expect_eager(
      "[capture:aten.nonzero]",
      [](const Tensor& a) {
        a.sub_(0.5);
        return a.round().nonzero();
      },
      x);
  expect_eager(
      "[capture", [](const Tensor& a) { return at::quantize_per_tensor(a, 0.1, 0, at::kQInt8).dequantize(); },
      x);
  auto generator = at::make_generator<at::CPUGeneratorImpl>(7);
  expect_eager(
      "[capture:generator]",
      [&](const Tensor& a) {
        generator.set_current_seed(3);
        return at::bernoulli(a, generator);
      },
      x);
  auto ones = torch::ones({4});
  expect_eager(
      "[capture:set_data]",
      [&](const Tensor& a) {
        auto copy = a + 1;
        copy.set_data(ones);
        return copy;
      },
      x);
}

TEST(EagerFallback, SparseAndQuantizedArguments) {
  auto compiled = compile([](const Tensor& a) { return a.to_dense() * 2; }, eager());
  for (const auto& argument : {torch::eye(3).to_sparse(), torch::eye(3).to_sparse_csr()}) {
    EXPECT_TRUE(at::equal(compiled(argument), torch::eye(3) * 2));
    EXPECT_TRUE(at::equal(compiled(argument), torch::eye(3) * 2));
  }
  EXPECT_EQ(compiled.report().eager_calls, 4U);
  auto dequantized = compile([](const Tensor& a) { return a.dequantize() * 2; }, eager());
  auto quantized = at::quantize_per_tensor(torch::ones({3}), 0.5, 0, at::kQInt8);
  EXPECT_TRUE(at::equal(dequantized(quantized), torch::full({3}, 2.0)));
}

TEST(EagerFallback, CallsThatNeedGradients) {
  auto compiled = compile(
      [](const Tensor& a) {
        auto leaf = a.detach().clone().set_requires_grad(a.requires_grad());
        return std::pair(leaf, (leaf * a).sum());
      },
      eager());
  auto x = torch::randn({3}).requires_grad_();
  auto [leaf, sum] = compiled(x);  // gradients would have to flow out through an output
  sum.backward();
  EXPECT_TRUE(at::equal(x.grad(), x.detach()));
  EXPECT_TRUE(at::equal(leaf.grad(), x.detach()));
  EXPECT_EQ(compiled.report().eager_calls, 1U);
  EXPECT_TRUE(at::equal(compiled(x.detach()).second, (x * x).sum().detach()));  // no gradients: compiled
  EXPECT_EQ(compiled.report().eager_calls, 1U);
  EXPECT_NE(compiled.graph(), "");
}

TEST(EagerFallback, TooManyVersions) {
  auto options = eager();
  options.max_versions = 1;
  options.drop_versions = false;
  auto compiled = compile([](const Tensor& a) { return a + 1; }, options);
  compiled(torch::zeros({1}));
  for (int64_t size = 2; size < 5; ++size)
    EXPECT_TRUE(at::equal(compiled(torch::zeros({size})), torch::ones({size})));
  EXPECT_EQ(compiled.report().eager_calls, 3U);
  EXPECT_EQ(compiled.report().captures, 1U);
  ASSERT_FALSE(compiled.report().eager_reasons.empty());
  EXPECT_NE(compiled.report().eager_reasons[0].find("was captured 1 times"), std::string::npos);
  compiled(torch::zeros({1}));
  EXPECT_EQ(compiled.report().eager_calls, 3U);
}

TEST(EagerFallback, OnlyTheCallsThatNeedIt) {
  auto compiled =
      compile([](const Tensor& a) { return a.dim() == 0 ? a * a.item<float>() : a * 2; }, eager());
  auto number = torch::tensor(3.0F);
  auto row = torch::randn({3});
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(compiled(number).item<float>(), 9.0F);
    EXPECT_TRUE(at::equal(compiled(row), row * 2));
  }
  EXPECT_EQ(compiled.report().eager_calls, 2U);
}

TEST(EagerFallback, ResultsInContainers) {
  auto compiled = compile(
      [](const Tensor& a, int64_t n) {
        return std::pair(a.nonzero(), a.sum().item<double>() + static_cast<double>(n));
      },
      eager());
  auto [indices, sum] = compiled(torch::ones({2}), int64_t{3});
  EXPECT_EQ(indices.size(0), 2);
  EXPECT_EQ(sum, 5.0);
}

TEST(EagerFallback, ExceptionsOfTheFunctionAreNoReason) {
  auto compiled = compile([](const Tensor& a) { return a.view({7}); }, eager());
  auto x = torch::randn({3});
  EXPECT_THROW(compiled(x), c10::Error);
  EXPECT_EQ(compiled.report().eager_calls, 0U);
  Options options = eager();
  options.check_recapture = true;
  double factor = 2;
  auto scaled = compile([&](const Tensor& a) { return a * factor; }, options);
  scaled(x);
  factor = 3;
  expect_error(ErrorCode::GraphChanged, "compile", "does something else", {x}, [&] { scaled(x); });
}

/// Errors that LibTorch throws because the tensors of a capture have no contents.
TEST(EagerFallback, PackedSequences) {
  torch::NoGradGuard no_grad;
  torch::nn::LSTM lstm(torch::nn::LSTMOptions(4, 8).batch_first(true));
  auto body = [&](const Tensor& x, const Tensor& lengths) {
    auto packed = torch::nn::utils::rnn::pack_padded_sequence(x, lengths, true);
    auto [output, state] = lstm->forward_with_packed_input(packed);
    return std::get<0>(torch::nn::utils::rnn::pad_packed_sequence(output, true));
  };
  auto x = torch::rand({2, 5, 4});
  auto lengths = torch::tensor({5, 3}, torch::kLong);
  auto strict = compile(body);
  expect_error(ErrorCode::DataRead, "capture:aten._pack_padded_sequence",
               "have none while a function is captured: Length of all samples", {x, lengths},
               [&] { strict(x, lengths); });
  auto too_many = torch::tensor({5, 3, 1}, torch::kLong);  // an error in eager, and the same one here
  EXPECT_THROW(strict(x, too_many), c10::Error);
  auto compiled = compile(body, eager());
  for (int call = 0; call < 2; ++call) EXPECT_TRUE(at::equal(compiled(x, lengths), body(x, lengths)));
  EXPECT_EQ(compiled.report().eager_calls, 2U);
}

// The view is met after its base has been written, or the other way round. A history that stays behind counts
// twice.
TEST(EagerFallback, HistoriesOfCapturedViewsAreThoseOfOneCall) {
  enum class Way { Eager, Fallback, AfterAnError };
  const auto gradient = [](Way way, bool writes_view) {
    const auto leaf = torch::tensor({4.0, 2.0}, torch::kDouble).requires_grad_();
    auto base = leaf * 1;
    auto view = base.view({2, 1});
    const std::function<std::vector<Tensor>()> body = [&] {
      (writes_view ? view : base).sin_();
      return std::vector<Tensor>{view, base};
    };
    if (way == Way::AfterAnError) {
      EXPECT_THROW(compile(body)(), Error);
    }
    const auto out = way == Way::Fallback ? compile(body, eager())() : body();
    (out[1] * torch::tensor({1.0, 3.0}, torch::kDouble)).sum().backward();
    return leaf.grad();
  };
  for (const bool writes_view : {false, true})
    for (const auto way : {Way::Fallback, Way::AfterAnError})
      EXPECT_TRUE(at::equal(gradient(way, writes_view), gradient(Way::Eager, writes_view)))
          << static_cast<int>(way) << writes_view;
}

TEST(EagerFallback, IsTriedAgainWhenACapturedTensorChanges) {
  auto scale = torch::full({3}, 2.f);
  auto compiled = compile(
      [&](const Tensor& a) {
        auto scaled = a * scale;
        return scale.numel() == 3 ? scaled * scaled.sum().item<float>() : scaled;
      },
      eager());
  auto x = torch::rand({3});
  for (int call = 0; call < 2; ++call) EXPECT_TRUE(at::allclose(compiled(x), x * 2 * (x * 2).sum()));
  EXPECT_EQ(compiled.report().eager_calls, 2U);
  scale = torch::full({1}, 3.f);
  for (int call = 0; call < 2; ++call) EXPECT_TRUE(at::equal(compiled(x), x * 3));
  EXPECT_EQ(compiled.report().eager_calls, 2U);
}

TEST(EagerFallback, IsNotTriedAgainForEver) {
  Tensor scale;
  int runs = 0;
  auto compiled = compile(
      [&](const Tensor& a) {
        ++runs;
        return a * scale * a.sum().item<float>();
      },
      eager());
  auto x = torch::rand({3});
  for (int call = 0; call < 10; ++call) {
    scale = torch::full({3}, static_cast<float>(call));
    EXPECT_TRUE(at::allclose(compiled(x), x * call * x.sum()));
  }
  EXPECT_LE(runs, 15);
  EXPECT_EQ(compiled.report().eager_calls, 10U);
}

}  // namespace
}  // namespace antegrad::test
