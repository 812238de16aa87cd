// Everything that arguments and results may consist of.
#include <ATen/CPUGeneratorImpl.h>
#include <antegrad/antegrad.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <limits>
#include <span>

#include "support/same_as_eager.h"

namespace user {

enum class Activation { Relu, Tanh };

struct State {
  at::Tensor position;
  std::vector<at::Tensor> history;
  int64_t step = 0;
  std::string note;
};
auto antegrad_fields(State& s) { return std::tie(s.position, s.history, s.step, s.note); }

struct World {
  State state;
  std::optional<double> damping;
};
auto antegrad_fields(World& w) { return std::tie(w.state, w.damping); }

}  // namespace user

namespace antegrad::test {
namespace {

using at::Tensor;

class Arguments : public ::testing::Test {
 protected:
  torch::NoGradGuard no_grad_;
  Tensor x_ = torch::randn({2, 3});
  Tensor y_ = torch::randn({2, 3});
};

TEST_F(Arguments, TensorsAndNewData) {  // CAP-05
  auto f = [](const Tensor& a, const Tensor& b) { return a * 2 + b; };
  auto compiled = compile(f);
  for (int call = 0; call < 3; ++call) {
    auto a = torch::randn({2, 3});
    auto b = torch::randn({2, 3});
    EXPECT_TRUE(same(f(a, b), compiled(a, b)));
  }
  EXPECT_EQ(compiled.report().calls, 3u);
  EXPECT_EQ(compiled.report().captures, 1u);
}

TEST_F(Arguments, UndefinedTensors) {
  auto f = [](const Tensor& a, const Tensor& b) { return std::pair(b.defined() ? a + b : a.neg(), b); };
  auto compiled = compile(f);
  auto without = compiled(x_, Tensor());
  EXPECT_TRUE(same(x_.neg(), without.first));
  EXPECT_FALSE(without.second.defined());
  auto with = compiled(x_, y_);
  EXPECT_TRUE(same(x_ + y_, with.first));
  EXPECT_TRUE(with.second.is_same(y_));
  EXPECT_TRUE(contains(last_reason(compiled), "was undefined"));
  EXPECT_TRUE(same(x_.neg(), compiled(x_, Tensor()).first));
  EXPECT_EQ(compiled.report().captures, 2u);
}

TEST_F(Arguments, AllResultsUndefined) {
  auto compiled = compile([](const Tensor&) { return Tensor(); });
  EXPECT_FALSE(compiled(x_).defined());
  EXPECT_FALSE(compiled(x_).defined());
  EXPECT_EQ(compiled.report().captures, 1u);
}

TEST_F(Arguments, OptionalTensors) {
  auto f = [](const Tensor& a, const std::optional<Tensor>& b) {
    return b ? std::optional(a * *b) : std::nullopt;
  };
  auto compiled = compile(f);
  EXPECT_TRUE(same(x_ * y_, *compiled(x_, std::optional<Tensor>(y_))));
  EXPECT_FALSE(compiled(x_, std::optional<Tensor>()).has_value());
  EXPECT_EQ(compiled.report().captures, 2u);
  EXPECT_TRUE(same(y_ * x_, *compiled(y_, std::optional<Tensor>(x_))));
  EXPECT_FALSE(compiled(y_, std::optional<Tensor>()).has_value());
  EXPECT_EQ(compiled.report().captures, 2u);
  // An undefined tensor in a set optional is a case of its own.
  auto defined = compile([](const std::optional<Tensor>& t) { return t && t->defined(); });
  EXPECT_FALSE(defined(std::optional<Tensor>(Tensor())));
  EXPECT_TRUE(defined(std::optional<Tensor>(x_)));
  EXPECT_FALSE(defined(std::optional<Tensor>()));
  EXPECT_EQ(defined.report().captures, 3u);
}

TEST_F(Arguments, Numbers) {  // CAP-01
  auto f = [](int64_t n, const Tensor& a, double scale, std::nullopt_t, bool negate, const Tensor& b,
              std::nullptr_t) {
    auto out = a * n + b * scale;
    return negate ? -out : out;
  };
  auto compiled = compile(f);
  auto call = [&](int64_t n, double scale, bool negate) {
    EXPECT_TRUE(same(f(n, x_, scale, std::nullopt, negate, y_, nullptr),
                     compiled(n, x_, scale, std::nullopt, negate, y_, nullptr)));
    return compiled.report().captures;
  };
  EXPECT_EQ(call(3, 0.5, false), 1u);
  EXPECT_EQ(call(3, 0.5, false), 1u);
  EXPECT_EQ(call(4, 0.5, false), 2u);
  EXPECT_EQ(last_reason(compiled), "argument 0 is the integer 4, was 3");
  EXPECT_EQ(call(4, 0.75, false), 3u);
  EXPECT_EQ(call(4, 0.75, true), 4u);
  EXPECT_EQ(call(3, 0.5, false), 4u);  // the first graph is still there
}

TEST_F(Arguments, UnusualDoubles) {
  auto f = [](const Tensor& a, double v) { return a * v; };
  auto compiled = compile(f);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  for (double v : {0.0, -0.0, nan, inf, -inf, 5e-324, 0.1}) {
    for (int call = 0; call < 2; ++call) {
      auto eager = f(x_, v);
      auto out = compiled(x_, v);
      if (std::isnan(v))
        EXPECT_TRUE(out.isnan().all().item<bool>());
      else
        EXPECT_TRUE(same(eager, out)) << v;
    }
  }
  EXPECT_EQ(compiled.report().captures, 2u);
  auto result = compile([](double v) { return v; });
  EXPECT_TRUE(std::signbit(result(-0.0)));
  EXPECT_FALSE(std::signbit(result(0.0)));
  EXPECT_TRUE(std::isnan(result(nan)));
}

TEST_F(Arguments, FloatsAndSmallIntegers) {
  auto f = [](const Tensor& a, float v, int8_t n, uint64_t u) {
    return a * v + n + static_cast<int64_t>(u % 7);
  };
  auto compiled = compile(f);
  for (auto [v, n, u] :
       {std::tuple{0.1f, int8_t{-3}, uint64_t{1} << 63}, {0.1f, int8_t{3}, 9u}, {-0.1f, int8_t{3}, 9u}})
    EXPECT_TRUE(same(f(x_, v, n, u), compiled(x_, v, n, u)));
  EXPECT_EQ(compiled.report().captures, 3u);
}

TEST_F(Arguments, EnumsAndStrings) {
  auto f = [](const Tensor& a, user::Activation act, const std::string& mode) {
    auto h = act == user::Activation::Relu ? a.relu() : a.tanh();
    return mode == "mean" ? h.mean() : mode == "sum" ? h.sum() : h;
  };
  auto compiled = compile(f);
  for (int round = 0; round < 2; ++round)
    for (auto act : {user::Activation::Relu, user::Activation::Tanh})
      for (std::string mode : {"mean", "sum", "", "a text that is longer than eight bytes",
                               "a text that is longer than eight byteS"})
        EXPECT_TRUE(same(f(x_, act, mode), compiled(x_, act, mode)));
  EXPECT_EQ(compiled.report().captures, 10u);
}

TEST_F(Arguments, EmbeddedZerosInStrings) {
  auto compiled = compile([](const std::string& s) { return s; });
  const std::string a("a\0b", 3), b("a\0c", 3), c("a", 1), d("a\0", 2);
  for (const auto& s : {a, b, c, d}) EXPECT_EQ(compiled(s), s);
  EXPECT_EQ(compiled.report().captures, 4u);
}

TEST_F(Arguments, Vectors) {
  auto f = [](const std::vector<Tensor>& all, const std::vector<int64_t>& perm) {
    auto sum = torch::zeros({2, 3});
    for (const auto& t : all) sum = sum + t;
    std::vector<Tensor> out{sum.permute(perm)};
    for (const auto& t : all) out.push_back(t * 2);
    return out;
  };
  auto compiled = compile(f);
  const std::vector<int64_t> kept{0, 1}, swapped{1, 0};
  for (int round = 0; round < 2; ++round) {
    EXPECT_TRUE(same(f({x_, y_}, kept), compiled(std::vector<Tensor>{x_, y_}, kept)));
    EXPECT_TRUE(same(f({x_, y_}, swapped), compiled(std::vector<Tensor>{x_, y_}, swapped)));
    EXPECT_TRUE(same(f({x_}, kept), compiled(std::vector<Tensor>{x_}, kept)));
    EXPECT_TRUE(same(f({}, kept), compiled(std::vector<Tensor>{}, kept)));
  }
  EXPECT_EQ(compiled.report().captures, 4u);
}

TEST_F(Arguments, LengthsAreNotMixedUpWithElements) {
  auto f = [](const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
    return std::pair(static_cast<int64_t>(a.size()), static_cast<int64_t>(b.size()));
  };
  auto compiled = compile(f);
  using V = std::vector<int64_t>;
  EXPECT_EQ(compiled(V{1, 1}, V{}), (std::pair<int64_t, int64_t>(2, 0)));
  EXPECT_EQ(compiled(V{1}, V{1}), (std::pair<int64_t, int64_t>(1, 1)));
  EXPECT_EQ(compiled(V{}, V{1, 1}), (std::pair<int64_t, int64_t>(0, 2)));
  EXPECT_EQ(compiled.report().captures, 3u);
}

TEST_F(Arguments, BoolVectors) {
  auto f = [](const Tensor& a, const std::vector<bool>& flags) { return flags.at(1) ? a.relu() : a; };
  auto compiled = compile(f);
  EXPECT_TRUE(same(f(x_, {true, false}), compiled(x_, std::vector<bool>{true, false})));
  EXPECT_TRUE(same(f(x_, {true, true}), compiled(x_, std::vector<bool>{true, true})));
  EXPECT_EQ(compiled.report().captures, 2u);
}

TEST_F(Arguments, ArraysPairsTuples) {  // CAP-02
  auto f = [](const std::array<Tensor, 2>& a, const std::pair<Tensor, int>& p,
              const std::tuple<double, Tensor>& t) {
    return std::tuple(a[0] + p.first * p.second, std::array<Tensor, 2>{a[1], std::get<1>(t) * std::get<0>(t)},
                      std::pair(p.second + 1, a[0] - a[1]));
  };
  auto compiled = compile(f);
  const std::array<Tensor, 2> a{x_, y_};
  for (int n : {2, 2, 3}) {
    auto [sum, array, pair] = compiled(a, std::pair(y_, n), std::tuple(1.5, x_));
    auto [eager_sum, eager_array, eager_pair] = f(a, {y_, n}, {1.5, x_});
    EXPECT_TRUE(same(eager_sum, sum));
    EXPECT_TRUE(array[0].is_same(y_));
    EXPECT_TRUE(same(eager_array[1], array[1]));
    EXPECT_EQ(pair.first, n + 1);
    EXPECT_TRUE(same(eager_pair.second, pair.second));
  }
  EXPECT_EQ(compiled.report().captures, 2u);
}

TEST_F(Arguments, Maps) {  // CAP-03
  using Map = std::map<std::string, Tensor>;
  auto f = [](const Map& in) {
    auto sum = in.at("a") + in.at("b");
    return Map{{"sum", sum}, {"again", sum}, {"a", in.at("a")}};
  };
  auto compiled = compile(f);
  for (int call = 0; call < 2; ++call) {
    auto out = compiled(Map{{"a", x_}, {"b", y_}});
    ASSERT_EQ(out.size(), 3u);
    EXPECT_TRUE(same(x_ + y_, out.at("sum")));
    EXPECT_TRUE(out.at("again").is_same(out.at("sum")));
    EXPECT_TRUE(out.at("a").is_same(x_));
  }
  EXPECT_EQ(compiled.report().captures, 1u);
  compiled(Map{{"a", x_}, {"b", y_}, {"c", y_}});
  EXPECT_EQ(compiled.report().captures, 2u);
}

TEST_F(Arguments, UnorderedMaps) {
  using Map = std::unordered_map<std::string, Tensor>;
  auto f = [](const Map& in) {
    Map out;
    for (const auto& [key, value] : in) out[key + "!"] = value * static_cast<int64_t>(key.size());
    return out;
  };
  auto compiled = compile(f);
  Map in;
  for (int i = 0; i < 20; ++i) in[std::string(static_cast<size_t>(i + 1), 'k')] = torch::full({2}, i);
  // The same elements in another order: results must follow the keys.
  Map reordered(1000);
  for (auto it = in.begin(); it != in.end(); ++it) reordered.insert(*it);
  for (const auto& each : {in, reordered, in}) {
    auto eager = f(each);
    auto out = compiled(each);
    ASSERT_EQ(out.size(), eager.size());
    for (const auto& [key, value] : eager) EXPECT_TRUE(same(value, out.at(key))) << key;
  }
}

TEST_F(Arguments, Nested) {
  using Leaf = std::map<int, std::vector<std::optional<Tensor>>>;
  using Arg = std::tuple<std::vector<std::pair<std::string, Leaf>>, std::array<double, 2>>;
  auto f = [](const Arg& arg) {
    std::vector<std::optional<std::pair<Tensor, double>>> out;
    for (const auto& [name, leaf] : std::get<0>(arg))
      for (const auto& [number, tensors] : leaf)
        for (const auto& t : tensors)
          out.push_back(t ? std::optional(std::pair(*t * number, std::get<1>(arg)[0])) : std::nullopt);
    return out;
  };
  auto compiled = compile(f);
  Arg arg{{{"first", {{1, {x_, std::nullopt}}, {2, {y_}}}}, {"second", {}}}, {0.5, 1.5}};
  for (int call = 0; call < 2; ++call) {
    auto eager = f(arg);
    auto out = compiled(arg);
    ASSERT_EQ(out.size(), eager.size());
    for (size_t i = 0; i < out.size(); ++i) {
      ASSERT_EQ(out[i].has_value(), eager[i].has_value());
      if (!out[i]) continue;
      EXPECT_TRUE(same(eager[i]->first, out[i]->first));
      EXPECT_EQ(eager[i]->second, out[i]->second);
    }
  }
  EXPECT_EQ(compiled.report().captures, 1u);
  std::get<0>(arg)[0].second[1][1] = y_;  // an optional that was unset before
  EXPECT_EQ(compiled(arg).size(), 3u);
  EXPECT_EQ(compiled.report().captures, 2u);
}

TEST_F(Arguments, UserStructs) {
  auto f = [](const user::World& world) {
    user::World next = world;
    next.state.position = world.state.position * world.damping.value_or(1.0);
    next.state.history.push_back(world.state.position);
    ++next.state.step;
    next.state.note += "+";
    return next;
  };
  auto compiled = compile(f);
  user::World world{{x_, {}, 0, "n"}, 0.5};
  auto eager = world;
  for (int step = 0; step < 3; ++step) {
    world = compiled(world);
    eager = f(eager);
    EXPECT_TRUE(same(eager.state.position, world.state.position));
    EXPECT_TRUE(same(eager.state.history, world.state.history));
    EXPECT_EQ(world.state.step, step + 1);
    EXPECT_EQ(world.state.note, eager.state.note);
  }
  EXPECT_EQ(compiled.report().captures, 3u);  // the number differs in each step
  compiled(user::World{{y_, {}, 0, "n"}, 0.5});
  EXPECT_EQ(compiled.report().captures, 3u);
}

TEST_F(Arguments, NumbersInsideResults) {
  auto compiled = compile([](const Tensor& a, int n) {
    return std::tuple(n * 2, std::string("sizes"), a.sizes().vec(), a + n, 0.5, n > 1);
  });
  for (int n : {1, 2, 1}) {
    auto [twice, text, sizes, sum, half, large] = compiled(x_, n);
    EXPECT_EQ(twice, 2 * n);
    EXPECT_EQ(text, "sizes");
    EXPECT_EQ(sizes, (std::vector<int64_t>{2, 3}));
    EXPECT_TRUE(same(x_ + n, sum));
    EXPECT_EQ(half, 0.5);
    EXPECT_EQ(large, n > 1);
  }
  EXPECT_EQ(compiled.report().captures, 2u);
}

// --- LibTorch's own types

TEST_F(Arguments, ListsThatReferToTheCallersMemory) {
  auto f = [](at::TensorList list, at::IntArrayRef sizes, std::span<const double> scales,
              std::string_view text) {
    auto sum = list[0] * scales[0];
    for (const auto& tensor : list.slice(1)) sum = sum + tensor * scales[1];
    return text == "flat" ? sum.flatten() : sum.view(sizes);
  };
  auto compiled = compile(f);
  const std::vector<Tensor> list{x_, y_};
  std::vector<int64_t> sizes{3, 2};
  const std::vector<double> scales{0.5, 2};
  auto call = [&](std::string_view text) {
    const std::span<const double> span(scales);
    EXPECT_TRUE(
        same(f(list, sizes, span, text), compiled(at::TensorList(list), at::IntArrayRef(sizes), span, text)));
    return compiled.report().captures;
  };
  EXPECT_EQ(call("view"), 1u);
  EXPECT_EQ(call("view"), 1u);
  EXPECT_EQ(call("flat"), 2u);
  sizes = {6, 1};
  EXPECT_EQ(call("view"), 3u);
}

// Second derivatives run the function again, after the memory of the call is gone.
TEST_F(Arguments, ListsAreKeptForSecondDerivatives) {
  torch::AutoGradMode grad(true);
  auto compiled =
      compile([](const Tensor& a, at::IntArrayRef sizes) { return a.pow(3).reshape(sizes).sum(0).sum(); });
  auto x = torch::arange(6, at::kDouble).requires_grad_();
  auto sizes = std::make_unique<std::vector<int64_t>>(std::vector<int64_t>{2, 3});
  auto y = compiled(x, at::IntArrayRef(*sizes));
  std::fill(sizes->begin(), sizes->end(), -7);
  sizes.reset();
  auto first = torch::autograd::grad({y}, {x}, {}, true, true)[0];
  EXPECT_TRUE(same(6 * x.detach(), torch::autograd::grad({first.sum()}, {x})[0]));
}

TEST_F(Arguments, ScalarsDevicesAndTypes) {
  auto f = [](const Tensor& a, const at::Scalar& factor, at::Device device, at::ScalarType type,
              caffe2::TypeMeta meta, const at::TensorOptions& options, std::complex<double> shift) {
    auto out = (a * factor).to(device).to(type).to(meta.toScalarType());
    return out + at::ones({2, 3}, options) * shift.real();
  };
  auto compiled = compile(f);
  const auto meta = caffe2::TypeMeta::Make<float>();
  uint64_t captures = 0;
  for (const auto& factor : {at::Scalar(2), at::Scalar(2.0), at::Scalar(true), at::Scalar(-0.0)})
    for (const auto type : {at::kFloat, at::kDouble}) {
      const auto options = at::TensorOptions().dtype(type);
      ++captures;
      for (int repeated = 0; repeated < 2; ++repeated)
        EXPECT_TRUE(same(
            f(x_, factor, at::kCPU, type, meta, options, {0.5, 1}),
            compiled(x_, factor, at::Device(at::kCPU), type, meta, options, std::complex<double>(0.5, 1))));
      EXPECT_EQ(compiled.report().captures, captures);
    }
}

TEST_F(Arguments, ModulesAreToldApart) {
  torch::nn::Sequential a(torch::nn::Linear(3, 4), torch::nn::Dropout(0.5)), b(torch::nn::Linear(3, 4));
  Options options;
  options.rng = Rng::Eager;
  auto compiled =
      compile([](const Tensor& x, torch::nn::Sequential net) { return net->forward(x); }, options);
  auto call = [&](torch::nn::Sequential& net) {
    torch::manual_seed(5);
    const auto eager = net->forward(x_);
    torch::manual_seed(5);
    EXPECT_TRUE(same(eager, compiled(x_, net)));
    return compiled.report().captures;
  };
  EXPECT_EQ(call(a), 1u);
  EXPECT_EQ(call(a), 1u);
  EXPECT_EQ(call(b), 2u);
  a->eval();
  EXPECT_EQ(call(a), 3u);
  a->train();
  EXPECT_EQ(call(a), 3u);
  auto pointer = std::make_shared<torch::nn::LinearImpl>(3, 2);
  auto by_pointer = compile(
      [](const Tensor& x, const std::shared_ptr<torch::nn::LinearImpl>& net) { return net->forward(x); });
  EXPECT_TRUE(same(pointer->forward(x_), by_pointer(x_, pointer)));
  pointer->weight.set_data(torch::ones({2, 3}));
  EXPECT_TRUE(same(pointer->forward(x_), by_pointer(x_, pointer)));
}

TEST_F(Arguments, OptionalGenerators) {
  auto f = [](const Tensor& a, const std::optional<at::Generator>& generator) {
    return a + at::randn({2, 3}, generator);
  };
  Options options;
  options.rng = Rng::Eager;
  auto compiled = compile(f, options);
  const std::optional<at::Generator> given(at::make_generator<at::CPUGeneratorImpl>(7));
  const std::optional<at::Generator> other(at::make_generator<at::CPUGeneratorImpl>(7));
  for (int call = 0; call < 3; ++call) EXPECT_TRUE(same(f(x_, other), compiled(x_, given)));
  EXPECT_EQ(compiled.report().captures, 1u);
}

}  // namespace
}  // namespace antegrad::test
