// Errors of calls that no version serves.
#include "error/expect_error.h"

namespace antegrad::test {
namespace {

using at::Tensor;

Options named(const std::string& name, int max_versions = 16) {
  Options options;
  options.name = name;
  options.max_versions = max_versions;
  options.drop_versions = false;
  return options;
}

TEST(TooManyVersions, NamesWhatChanged) {
  auto options = named("resizing", 2);
  options.dynamic = Dynamic::None;
  auto compiled = compile([](const Tensor& a) { return a + 1; }, options);
  compiled(torch::randn({1}));
  compiled(torch::randn({2}));
  auto x = torch::randn({3});
  expect_error(ErrorCode::TooManyVersions, "compile",
               "'resizing' was captured 2 times, the last time because tensor 0 has sizes [3], had [2]", {x},
               [&] { compiled(x); });
  EXPECT_EQ(compiled(torch::zeros({1})).item<float>(), 1.0F);
  EXPECT_EQ(compiled.report().captures, 2U);
}

TEST(TooManyVersions, OfNumbers) {
  auto compiled = compile([](const Tensor& a, int64_t n) { return a + n; }, named("counting", 1));
  auto x = torch::randn({3});
  compiled(x, int64_t{1});
  expect_error(ErrorCode::TooManyVersions, "compile", "argument 1 is the integer 2, was 1", {x},
               [&] { compiled(x, int64_t{2}); });
}

TEST(TooManyVersions, DeadVersionsDoNotCount) {
  auto weight = torch::randn({3});
  auto compiled = compile([&](const Tensor& a) { return a + weight; }, named("replacing", 1));
  auto x = torch::randn({3});
  for (int round = 0; round < 3; ++round) {
    EXPECT_TRUE(at::equal(compiled(x), x + weight));
    weight = torch::randn({3});  // frees the old one, and with it the version that captured it
  }
}

// A graph for one tensor that is passed twice does not serve two tensors. The function is recaptured unless
// there are too many versions.
TEST(TooManyVersions, OneTensorTwiceThenTwo) {  // ERR-10
  auto change = [](const Tensor& a, const Tensor& b) {
    a.add_(1);
    return b * 2;
  };
  auto x = torch::randn({3});
  auto y = torch::randn({3});
  auto compiled = compile(change, named("twice", 1));
  compiled(x, x);
  expect_error(ErrorCode::TooManyVersions, "compile",
               "'twice' was captured 1 times, the last time because inputs 0 and 1 ", {x, y},
               [&] { compiled(x, y); });
  auto read = compile([](const Tensor& a, const Tensor& b) { return a * 2 + b; }, named("read", 1));
  read(x, y);
  EXPECT_TRUE(at::equal(read(x, x), x * 3));
}

TEST(TooManyVersions, RequiresGradChanges) {  // ERR-11
  at::NoGradGuard no_grad;
  auto compiled = compile([](const Tensor& a) { return a * 2; }, named("leaf", 1));
  compiled(torch::randn({3}));
  auto x = torch::randn({3}).requires_grad_();
  expect_error(ErrorCode::TooManyVersions, "compile", "tensor 0 has requires_grad", {x},
               [&] { compiled(x); });
}

Options checked(const std::string& name) {
  auto options = named(name);
  options.check_recapture = true;
  return options;
}

TEST(GraphChanged, CapturedNumber) {
  double factor = 2;
  auto compiled = compile([&](const Tensor& a) { return a * factor; }, checked("scaled"));
  auto x = torch::randn({3});
  compiled(x);
  EXPECT_TRUE(at::equal(compiled(x), x * 2));
  factor = 3;
  expect_error(ErrorCode::GraphChanged, "compile", "'scaled' does something else than when it was captured",
               {x}, [&] { compiled(x); });
  try {
    compiled(x);
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_TRUE(std::regex_search(text, std::regex(R"(\n- .*aten\.mul.*2.*\n\+ .*aten\.mul.*3)"))) << text;
  }
  factor = 2;
  EXPECT_TRUE(at::equal(compiled(x), x * 2));
}

// Mini-batches of a larger tensor: where one begins is not part of the program.
TEST(GraphChanged, NotByWhereInputsBegin) {
  double factor = 2;
  auto compiled = compile([&](const Tensor& a) { return (a.select(1, 1) * a.t()[0] * factor).sum(); },
                          checked("batches"));
  const auto all = torch::randn({64, 4});
  for (int64_t i = 0; i < 64; i += 16) {
    const auto batch = all.slice(0, i, i + 16);
    EXPECT_TRUE(at::allclose(compiled(batch), (batch.select(1, 1) * batch.t()[0] * 2).sum()));
  }
  factor = 3;
  expect_error(ErrorCode::GraphChanged, "compile", "'batches' does something else", {all},
               [&] { compiled(all.slice(0, 16, 32)); });
}

// Views of one tensor that both get gradients are captured twice, the second time with that tensor as input.
TEST(GraphChanged, NotByInputsThatShareATensor) {
  auto compiled =
      compile([](const Tensor& a, const Tensor& b) { return (a.sin() * b).sum(); }, checked("shared"));
  const auto base = torch::randn({8}).requires_grad_();
  for (int i = 0; i < 3; ++i) {
    const auto views = base * 1;
    const auto expected =
        torch::autograd::grad({(views.slice(0, 0, 4).sin() * views.slice(0, 4)).sum()}, {base});
    const auto whole = base * 1;
    const auto found = torch::autograd::grad({compiled(whole.slice(0, 0, 4), whole.slice(0, 4))}, {base});
    EXPECT_TRUE(at::allclose(expected[0], found[0]));
  }
}

TEST(GraphChanged, CapturedBranch) {
  bool relu = true;
  auto compiled = compile([&](const Tensor& a) { return relu ? a.relu() : a.tanh(); }, checked("branch"));
  auto x = torch::randn({3});
  compiled(x);
  relu = false;
  expect_error(ErrorCode::GraphChanged, "compile", "aten.tanh", {x}, [&] { compiled(x); });
}

TEST(GraphChanged, MoreOps) {
  int rounds = 1;
  auto compiled = compile(
      [&](const Tensor& a) {
        auto out = a;
        for (int i = 0; i < rounds; ++i) out = out + 1;
        return out;
      },
      checked("rounds"));
  auto x = torch::randn({3});
  compiled(x);
  rounds = 2;
  expect_error(ErrorCode::GraphChanged, "compile", "'rounds' does something else", {x}, [&] { compiled(x); });
}

TEST(GraphChanged, TrainFlagOfAHiddenModule) {
  at::NoGradGuard no_grad;
  torch::nn::Dropout dropout(0.5);
  auto compiled = compile([=](const Tensor& a) mutable { return dropout->forward(a); }, checked("hidden"));
  auto x = torch::randn({3});
  dropout->eval();
  compiled(x);
  dropout->train();
  expect_error(ErrorCode::GraphChanged, "compile", "Options::watch", {x}, [&] { compiled(x); });
  auto options = checked("watched");
  options.watch = {dropout.ptr()};
  auto watched = compile([=](const Tensor& a) mutable { return dropout->forward(a); }, options);
  watched(x);
  dropout->eval();
  EXPECT_TRUE(at::equal(watched(x), x));
  EXPECT_EQ(watched.report().captures, 2U);
}

TEST(GraphChanged, NotThrownForARandomOrMutatingFunction) {
  auto state = torch::zeros({3});
  auto compiled =
      compile([&](const Tensor& a) { return state.add_(1) + at::rand({3}) + a; }, checked("same"));
  auto x = torch::zeros({3});
  for (int call = 1; call < 4; ++call) {
    compiled(x);
    EXPECT_EQ(state[0].item<float>(), static_cast<float>(call));
  }
}

TEST(GraphChanged, AWatchedModuleThatIsReplaced) {
  torch::nn::Linear net(4, 1);
  auto options = named("folds");
  options.watch = {net.ptr()};
  auto x = torch::randn({8, 4});
  auto compiled = compile([&](const Tensor& a) { return net->forward(a); }, options);
  EXPECT_TRUE(at::allclose(compiled(x), net->forward(x)));
  EXPECT_TRUE(at::allclose(compiled(x), net->forward(x)));
  net = torch::nn::Linear(4, 1);
  for (int call = 0; call < 2; ++call)
    expect_error(ErrorCode::GraphChanged, "compile",
                 "watched module 0 of 'folds' was replaced: the function uses none of its tensors any more",
                 {x}, [&] { compiled(x); });
  options.watch = {net.ptr()};
  auto again = compile([&](const Tensor& a) { return net->forward(a); }, options);
  EXPECT_TRUE(at::allclose(again(x), net->forward(x)));
}

}  // namespace
}  // namespace antegrad::test
