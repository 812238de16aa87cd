// antegrad.random_…: the numbers are those of util/philox.h and have the right distributions. Seeds are
// fixed, so no test fails by chance.
#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "antegrad/error.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "passes/random/functional_rng.h"
#include "runtime/executable.h"
#include "runtime/rng_state.h"
#include "support/seeds.h"
#include "util/philox.h"

namespace antegrad::runtime {
namespace {

using at::Tensor;

constexpr int64_t kSeed = 0x1234567890abcdef;

Tensor state(int64_t seed, int64_t offset = 0) { return torch::tensor({seed, offset}, torch::kLong); }

std::vector<Tensor> run(const ir::Graph& graph, const std::vector<Tensor>& inputs) {
  ir::verify(graph);
  std::vector<Tensor> outputs;
  Executable(graph).run(inputs, outputs);
  return outputs;
}

/// Runs one op of type `type`, as in draw("f32[100]", "random_uniform", "0, 0.0, 1.0").
Tensor draw(const std::string& type, const std::string& op, const std::string& arguments,
            const Tensor& rng = state(kSeed)) {
  const auto graph = ir::parse(fmt::format(
      "graph @f functional {{ in %0: i64[2] rng \"rng\" %1: {} = antegrad.{}(%0, {}) out %1 user }}", type,
      op, arguments));
  return run(graph, {rng}).at(0);
}

/// The same with a tensor as a parameter, which is %1 in the arguments.
Tensor draw_with(const Tensor& parameter, const std::string& parameter_type, const std::string& type,
                 const std::string& op, const std::string& arguments) {
  const auto graph = ir::parse(fmt::format(
      "graph @f functional {{ in %0: i64[2] rng in %1: {} user %2: {} = antegrad.{}(%0, {}) out %2 user }}",
      parameter_type, type, op, arguments));
  return run(graph, {state(kSeed), parameter}).at(0);
}

double mean_of(const Tensor& x) { return x.to(torch::kDouble).mean().item<double>(); }
double variance_of(const Tensor& x) { return x.to(torch::kDouble).var().item<double>(); }

/// Tests counts of values in bins of given probabilities against the upper 1e-4 of the chi-square
/// distribution, in the approximation of Wilson and Hilferty.
void expect_fits(const std::vector<double>& counts, const std::vector<double>& probabilities) {
  ASSERT_EQ(counts.size(), probabilities.size());
  double total = 0, chi_square = 0;
  for (const auto count : counts) total += count;
  for (size_t i = 0; i < counts.size(); ++i) {
    const auto expected = total * probabilities[i];
    ASSERT_GT(expected, 20);
    chi_square += (counts[i] - expected) * (counts[i] - expected) / expected;
  }
  const double freedom = static_cast<double>(counts.size()) - 1, h = 2 / (9 * freedom);
  const double z = (std::cbrt(chi_square / freedom) - (1 - h)) / std::sqrt(h);
  EXPECT_LT(std::abs(z), 3.9) << "chi-square " << chi_square << " with " << freedom << " degrees of freedom";
}

/// `cdf` maps values to numbers that are uniform in [0, 1] if the values have the right distribution.
void expect_distribution(const Tensor& x, const std::function<Tensor(const Tensor&)>& cdf) {
  constexpr int64_t kBins = 100;
  const auto bins =
      cdf(x.to(torch::kDouble)).mul(kBins).floor().clamp(0, kBins - 1).to(torch::kLong).flatten();
  const auto counts = bins.bincount({}, kBins).to(torch::kDouble).contiguous();
  expect_fits({counts.data_ptr<double>(), counts.data_ptr<double>() + kBins},
              std::vector<double>(kBins, 1.0 / kBins));
}

TEST(Philox, KnownAnswers) {  // the vectors published with Random123
  using philox::encrypt;
  using philox::Words;
  EXPECT_EQ(encrypt({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  const uint32_t ones = 0xffffffff;
  EXPECT_EQ(encrypt({ones, ones, ones, ones}, {ones, ones}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(encrypt({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, VariatesStayInsideTheirIntervals) {
  const uint32_t most = 0xffffffff;
  const uint64_t most_wide = 0xffffffffffffffff;
  EXPECT_EQ(philox::unit(uint32_t{0}, 24), 0);
  EXPECT_EQ(philox::unit(most, 24), 1 - 0x1p-24F);
  EXPECT_EQ(philox::unit(most, 11), 1 - 0x1p-11F);
  EXPECT_EQ(philox::unit(most_wide, 53), 1 - 0x1p-53);
  EXPECT_EQ(philox::open_unit(uint32_t{0}), 0x1p-24F);
  EXPECT_EQ(philox::open_unit(most), 1 - 0x1p-24F);
  EXPECT_EQ(philox::open_unit(uint64_t{0}), 0x1p-53);
  EXPECT_EQ(philox::open_unit(most_wide), 1 - 0x1p-53);
  EXPECT_FALSE(philox::chance(uint32_t{0}, 0.0));
  EXPECT_TRUE(philox::chance(most, 1.0));
  EXPECT_TRUE(philox::chance(most_wide, 1.0));
  EXPECT_FALSE(philox::chance(uint32_t{1} << 31, 0.5));
  EXPECT_TRUE(philox::chance((uint32_t{1} << 31) - 1, 0.5));
  EXPECT_EQ(philox::below(most, 10), 9U);
  EXPECT_EQ(philox::below(most_wide, 10), 9U);
  EXPECT_EQ(philox::below(most_wide, 0), most_wide);
  EXPECT_LT(philox::cauchy(philox::open_unit(uint32_t{0}), 0.0F, 1.0F), -1e6F);
  EXPECT_GT(philox::cauchy(philox::open_unit(most), 0.0F, 1.0F), 1e6F);
  EXPECT_GT(philox::exponential(philox::open_unit(most), 1.0F), 0);
  EXPECT_EQ(philox::geometric(philox::open_unit(most), 0.5F), 1);
}

TEST(RandomOps, ElementsAreFunctionsOfCounterAndLane) {
  const auto narrow = draw("f32[11]", "random_uniform", "5, 0.0, 1.0", state(kSeed, 7));
  const auto wide = draw("f64[11]", "random_uniform", "5, 0.0, 1.0", state(kSeed, 7));
  for (int64_t i = 0; i < 11; ++i) {
    const auto four = philox::words(kSeed, static_cast<uint64_t>(12 + i / 4));
    EXPECT_EQ(narrow[i].item<float>(), philox::unit(four[static_cast<size_t>(i % 4)], 24));
    const auto two = philox::lanes<double>(philox::words(kSeed, static_cast<uint64_t>(12 + i / 2)));
    EXPECT_EQ(wide[i].item<double>(), philox::unit(two[static_cast<size_t>(i % 2)], 53));
  }
}

TEST(RandomOps, SeedAndOffsetDecide) {
  const std::vector<std::pair<std::string, std::string>> ops = {
      {"random_uniform", "0.0, 1.0"}, {"random_normal", "0.0, 1.0"},    {"random_bernoulli", "0.5"},
      {"random_int", "0, 100"},       {"random_exponential", "1.0"},    {"random_geometric", "0.1"},
      {"random_cauchy", "0.0, 1.0"},  {"random_log_normal", "0.0, 1.0"}};
  for (const auto& [op, parameters] : ops) {
    SCOPED_TRACE(op);
    const auto at = [&](int64_t offset, int64_t seed, int64_t start) {
      return draw("f32[1000]", op, fmt::format("{}, {}", offset, parameters), state(seed, start));
    };
    const auto x = at(3, kSeed, 0);
    EXPECT_TRUE(x.equal(at(3, kSeed, 0)));
    EXPECT_TRUE(x.equal(at(0, kSeed, 3))) << "the offsets of state and node add up";
    EXPECT_FALSE(x.equal(at(3, kSeed + 1, 0)));
    EXPECT_FALSE(x.equal(at(3, kSeed + (int64_t{1} << 32), 0)));
    EXPECT_FALSE(x.equal(at(2, kSeed, 0)));
    EXPECT_TRUE(x.slice(0, 4).equal(at(4, kSeed, 0).slice(0, 0, 996))) << "four elements to a counter";
  }
}

TEST(RandomOps, ThreadsDoNotMatter) {
  const int before = at::get_num_threads();
  for (const auto* type : {"f32[100003]", "f64[100003]", "f32[317,331]{1,317}"}) {
    at::set_num_threads(1);
    const auto alone = draw(type, "random_normal", "0, 0.0, 1.0");
    at::set_num_threads(2);
    EXPECT_TRUE(alone.equal(draw(type, "random_normal", "0, 0.0, 1.0")));
    at::set_num_threads(3);
    EXPECT_TRUE(alone.equal(draw(type, "random_normal", "0, 0.0, 1.0")));
  }
  at::set_num_threads(before);
}

TEST(RandomOps, StridesAreTheTypesAndDoNotMatter) {
  const auto x = draw("f32[6,7]", "random_uniform", "0, 0.0, 1.0");
  for (const auto* type : {"f32[6,7]{1,6}", "f32[6,7]{20,2}"}) {
    const auto y = draw(type, "random_uniform", "0, 0.0, 1.0");
    EXPECT_TRUE(x.equal(y));
    EXPECT_FALSE(y.is_contiguous());
  }
  EXPECT_EQ(draw("f32[6,7]{20,2}", "random_uniform", "0, 0.0, 1.0").strides(), (std::vector<int64_t>{20, 2}));
}

TEST(RandomOps, EmptyAndScalarResults) {
  EXPECT_EQ(draw("f32[0,3]", "random_normal", "0, 0.0, 1.0").sizes(), (std::vector<int64_t>{0, 3}));
  EXPECT_EQ(draw("i64[0]", "random_int", "0, 0, 5").numel(), 0);
  EXPECT_EQ(draw("bool[]", "random_bernoulli", "0, 1.0").item<bool>(), true);
}

TEST(RandomOps, UniformMomentsRangeAndResolution) {
  for (const auto* type : {"f32[200000]", "f64[200000]", "f16[200000]", "bf16[200000]"}) {
    SCOPED_TRACE(type);
    const auto x = draw(type, "random_uniform", "0, 0.0, 1.0");
    EXPECT_GE(x.min().item<double>(), 0);
    EXPECT_LT(x.max().item<double>(), 1);
    const bool coarse = x.scalar_type() == torch::kBFloat16;  // rounded down to a multiple of 1/256
    EXPECT_NEAR(mean_of(x), coarse ? 0.5 - 0.5 / 256 : 0.5, 2e-3);
    EXPECT_NEAR(variance_of(x), 1.0 / 12, 1e-3);
    const auto y = draw(type, "random_uniform", "0, -3.0, 0.1");
    EXPECT_GE(y.min().item<double>(), -3);
    EXPECT_LT(y.max().item<double>(), 0.1);
    EXPECT_NEAR(mean_of(y), -1.45, coarse ? 0.02 : 6e-3);
  }
  const auto identity = [](const Tensor& x) { return x; };
  expect_distribution(draw("f32[200000]", "random_uniform", "0, 0.0, 1.0"), identity);
  expect_distribution(draw("f64[200000]", "random_uniform", "0, 0.0, 1.0"), identity);
  const auto scaled = draw("f32[10000]", "random_uniform", "0, 0.0, 1.0").mul(0x1p24);
  EXPECT_TRUE(scaled.equal(scaled.floor()));
  EXPECT_GT(scaled.remainder(2).sum().item<double>(), 4000) << "the last of the 24 bits is random";
  EXPECT_TRUE(draw("f32[9]", "random_uniform", "0, 2.0, 2.0").eq(2).all().item<bool>());
}

TEST(RandomOps, NormalIsNormal) {
  const auto cdf = [](const Tensor& z) { return (1 + torch::erf(z / std::sqrt(2.0))) / 2; };
  for (const auto* type : {"f32[400000]", "f64[400000]", "f16[400000]"}) {
    SCOPED_TRACE(type);
    const auto x = draw(type, "random_normal", "0, 1.5, 2.0");
    EXPECT_NEAR(mean_of(x), 1.5, 0.012);
    EXPECT_NEAR(variance_of(x), 4, 0.04);
    const auto z = (x.to(torch::kDouble) - 1.5) / 2;
    EXPECT_NEAR(z.pow(3).mean().item<double>(), 0, 0.02);
    EXPECT_NEAR(z.pow(4).mean().item<double>(), 3, 0.06);
    if (x.scalar_type() != torch::kHalf) expect_distribution(z, cdf);
    const auto lanes = z.view({-1, 2});  // each pair shares a radius and an angle
    EXPECT_NEAR((lanes.select(1, 0) * lanes.select(1, 1)).mean().item<double>(), 0, 0.01);
    EXPECT_NEAR((lanes.select(1, 0).square() * lanes.select(1, 1).square()).mean().item<double>(), 1, 0.02);
  }
  EXPECT_TRUE(draw("f32[9]", "random_normal", "0, 2.0, 0.0").eq(2).all().item<bool>());
}

TEST(RandomOps, NormalWithTensors) {
  const auto z = draw("f32[4,50000]", "random_normal", "0, 0.0, 1.0");
  const auto column = torch::tensor({0.0F, 1.0F, 2.0F, 30.0F}).view({4, 1});
  const auto x = draw_with(column, "f32[4,1]", "f32[4,50000]", "random_normal", "0, %1, 2.0");
  EXPECT_TRUE(x.equal(z * 2 + column));
  const auto y = draw_with(column, "f32[4,1]", "f32[4,50000]", "random_normal", "0, 0.5, %1");
  EXPECT_TRUE(y.equal(z * column + 0.5));
  EXPECT_THROW(draw_with(-column, "f32[4,1]", "f32[4,5]", "random_normal", "0, 0.5, %1"), c10::Error);
}

TEST(RandomOps, BernoulliComparesExactly) {
  for (const auto* type : {"f32[200000]", "f64[200000]", "f16[200000]", "bf16[200000]", "bool[200000]",
                           "u8[200000]", "i8[200000]", "i16[200000]", "i32[200000]", "i64[200000]"}) {
    SCOPED_TRACE(type);
    const auto x = draw(type, "random_bernoulli", "0, 0.3");
    EXPECT_TRUE(x.eq(0).logical_or(x.eq(1)).all().item<bool>());
    const auto ones = x.to(torch::kDouble).sum().item<double>();
    expect_fits({ones, 200000 - ones}, {0.3, 0.7});
    EXPECT_TRUE(draw(type, "random_bernoulli", "0, 0.0").eq(0).all().item<bool>());
    EXPECT_TRUE(draw(type, "random_bernoulli", "0, 1.0").eq(1).all().item<bool>());
  }
}

TEST(RandomOps, BernoulliWithTensors) {
  const auto p = torch::tensor({0.0, 0.2, 0.9, 1.0}, torch::kDouble);
  const auto x = draw_with(p, "f64[4]", "f32[50000,4]", "random_bernoulli", "0, %1").mean(0);
  EXPECT_EQ(x[0].item<float>(), 0);
  EXPECT_NEAR(x[1].item<float>(), 0.2, 0.01);
  EXPECT_NEAR(x[2].item<float>(), 0.9, 0.01);
  EXPECT_EQ(x[3].item<float>(), 1);
  for (const double wrong : {1.5, -0.1, std::nan("")}) {
    const auto probabilities = torch::full({4}, wrong, torch::kDouble);
    EXPECT_THROW(draw_with(probabilities, "f64[4]", "f32[5,4]", "random_bernoulli", "0, %1"), c10::Error);
  }
}

TEST(RandomOps, IntegersFillTheirRange) {
  for (const auto* type :
       {"i64[100000]", "i32[100000]", "i8[100000]", "f32[100000]", "f64[100000]", "f16[100000]"}) {
    SCOPED_TRACE(type);
    const auto x = draw(type, "random_int", "0, -3, 9").to(torch::kLong) + 3;
    ASSERT_EQ(x.min().item<int64_t>(), 0);
    ASSERT_EQ(x.max().item<int64_t>(), 11);
    const auto counts = x.bincount().to(torch::kDouble);
    expect_fits({counts.data_ptr<double>(), counts.data_ptr<double>() + 12},
                std::vector<double>(12, 1.0 / 12));
  }
  EXPECT_TRUE(draw("i64[9]", "random_int", "0, 7, 8").eq(7).all().item<bool>());
}

TEST(RandomOps, IntegersFromManyValues) {
  const auto scaled = [](double low, double range) {
    return [=](const Tensor& x) { return (x - low) / range; };
  };
  expect_distribution(draw("i64[100000]", "random_int", "0, 5, 3000000005"), scaled(5, 3e9));
  expect_distribution(draw("i64[100000]", "random_int", "0, 0, none"), scaled(0, 0x1p63));
  expect_distribution(draw("i64[100000]", "random_int", "0, -9223372036854775808, none"),
                      scaled(-0x1p63, 0x1p64));
  const auto x = draw("i64[100000]", "random_int", "0, -4, 65532");  // the largest range of one word
  EXPECT_EQ(x.min().item<int64_t>(), -4);
  EXPECT_LT(x.max().item<int64_t>(), 65532);
  expect_distribution(x, scaled(-4, 65536));
}

TEST(RandomOps, OtherDistributions) {
  for (const auto* type : {"f32[200000]", "f64[200000]"}) {
    SCOPED_TRACE(type);
    const auto exponential = draw(type, "random_exponential", "0, 0.5");
    EXPECT_GT(exponential.min().item<double>(), 0);
    EXPECT_NEAR(mean_of(exponential), 2, 0.03);
    expect_distribution(exponential, [](const Tensor& x) { return 1 - torch::exp(-0.5 * x); });
    expect_distribution(draw(type, "random_cauchy", "0, 1.0, 3.0"),
                        [](const Tensor& x) { return torch::atan((x - 1) / 3) / M_PI + 0.5; });
    expect_distribution(draw(type, "random_log_normal", "0, 0.5, 2.0"), [](const Tensor& x) {
      return (1 + torch::erf((torch::log(x) - 0.5) / 2 / std::sqrt(2.0))) / 2;
    });
  }
}

TEST(RandomOps, GeometricCountsTries) {
  for (const auto* type : {"f32[200000]", "f64[200000]", "i64[200000]", "u8[200000]"}) {
    SCOPED_TRACE(type);
    const auto x = draw(type, "random_geometric", "0, 0.4").to(torch::kLong);
    ASSERT_EQ(x.min().item<int64_t>(), 1);
    constexpr int64_t kLast = 12;  // and all larger values
    const auto counts = x.clamp_max(kLast).bincount().slice(0, 1).to(torch::kDouble).contiguous();
    std::vector<double> probabilities;
    for (int64_t k = 1; k < kLast; ++k)
      probabilities.push_back(0.4 * std::pow(0.6, static_cast<double>(k - 1)));
    probabilities.push_back(std::pow(0.6, static_cast<double>(kLast - 1)));
    expect_fits({counts.data_ptr<double>(), counts.data_ptr<double>() + kLast}, probabilities);
  }
}

/// Runs the pass on a graph of LibTorch's random ops, and then the graph.
std::vector<Tensor> run_rewritten(const std::string& text, std::vector<Tensor> inputs) {
  auto graph = ir::parse(text);
  EXPECT_TRUE(passes::functional_rng(graph));
  for (const auto& node : graph.nodes) EXPECT_FALSE(node.effects.random) << node.op;
  inputs.push_back(state(kSeed));
  auto outputs = run(graph, inputs);
  for (size_t i = 0; i < outputs.size(); ++i) {  // results have the strides and dtypes that the graph states
    const auto& type = graph.tensor_type(graph.outputs[i].value);
    for (size_t d = 0; d < type.sizes.size(); ++d)
      EXPECT_EQ(outputs[i].stride(static_cast<int64_t>(d)), type.strides[d].constant());
    EXPECT_EQ(static_cast<int64_t>(outputs[i].element_size()), ir::size_in_bytes(type.dtype));
  }
  return outputs;
}

TEST(FunctionalRng, NativeDropoutIsMaskAndScaledProduct) {
  test::manual_seed(5);
  const auto x = torch::randn({300, 400}).t();
  const auto out = run_rewritten(R"(graph @f functional {
    in %0: f32[400,300]{1,400} user
    %1: f32[400,300]{1,400}, %2: bool[400,300]{1,400} = aten.native_dropout(%0, 0.2, true) random
    out %1 user
    out %2 user
  })",
                                 {x});
  EXPECT_NEAR(mean_of(out[1]), 0.8, 5e-3);
  EXPECT_TRUE(out[0].equal(x.mul(out[1]).mul(1 / 0.8)));
}

TEST(FunctionalRng, RreluKeepsItsFactors) {
  test::manual_seed(5);
  for (const auto dtype : {torch::kFloat, torch::kBFloat16}) {
    auto x = torch::randn({300, 400}).to(dtype);
    x[0][0] = std::nan("");
    std::string text = R"(graph @f functional {
      in %0: f32[300,400] user
      in %1: f32[300,400] user
      %2: f32[300,400], %3: f32[300,400] = functional aten.rrelu_with_noise(%0, %1, 0.125, 0.5, true) writes(%1) random
      out %2 user
      out %3 user
    })";
    if (dtype == torch::kBFloat16)
      for (size_t at = 0; (at = text.find("f32", at)) != std::string::npos;) text.replace(at, 3, "bf16");
    const auto out = run_rewritten(text, {x, torch::empty({300, 400}, dtype)});
    ASSERT_EQ(out[0].scalar_type(), dtype);
    const auto negative = x.le(0);
    const auto factors = out[1].masked_select(negative);
    EXPECT_GE(factors.min().item<double>(), 0.125);
    EXPECT_LT(factors.max().item<double>(), 0.5);
    EXPECT_NEAR(mean_of(factors), 0.3125, 3e-3);  // bfloat16 has few values in the range
    EXPECT_TRUE(out[1].masked_select(negative.logical_not()).eq(1).all().item<bool>());
    EXPECT_TRUE(at::allclose(out[0], x * out[1], 0, 0, true));
  }
}

TEST(FunctionalRng, NodesOfOneGraphDrawOtherNumbers) {
  const auto out = run_rewritten(R"(graph @f functional {
    in %0: f32[1001] user
    %1: f32[1001] = aten.rand_like(%0) random
    %2: f32[1001] = aten.rand_like(%0) random
    %3: f64[1001] = aten.rand([1001], dtype=f64) random
    %4: f64[1001] = aten.rand([1001], dtype=f64) random
    out %1 user
    out %2 user
    out %3 user
    out %4 user
  })",
                                 {torch::empty({1001})});
  for (const auto& [a, b] : {std::pair(out[0], out[1]), std::pair(out[2], out[3])}) {
    const auto both = torch::cat({a, b});
    EXPECT_GE(std::get<0>(at::_unique(both)).numel(), 2000) << "a counter was used twice";
  }
}

TEST(RngState, ComesFromLibTorchsGenerator) {
  test::manual_seed(11);
  const auto first = take_rng_state(), second = take_rng_state();
  EXPECT_EQ(first.scalar_type(), torch::kLong);
  EXPECT_EQ(first.sizes(), (std::vector<int64_t>{2}));
  EXPECT_EQ(first[1].item<int64_t>(), 0);
  EXPECT_NE(first[0].item<int64_t>(), second[0].item<int64_t>());
  test::manual_seed(11);
  EXPECT_TRUE(take_rng_state().equal(first));
  EXPECT_TRUE(take_rng_state().equal(second));
}

TEST(RandomOps, WrongArgumentsAreErrors) {
  const auto expect_error = [](const std::string& type, const std::string& op, const std::string& arguments,
                               const std::string& fact) {
    try {
      draw(type, op, arguments);
      ADD_FAILURE() << "nothing was thrown";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(fmt::format("[run:antegrad.{}] {}.", op, fact)),
                std::string::npos)
          << error.what();
    }
  };
  expect_error("f32[4]", "random_int", "0, 5, 5", "there is no integer from 5 to below 5");
  expect_error("i64[4]", "random_normal", "0, 0.0, 1.0", "there are no such numbers of type i64 on cpu");
  expect_error("f32[4]", "random_uniform", "0, 0.0", "it takes a random state, an offset and 2 parameters");
  expect_error("f32[4]", "random_uniform", "0, 0.0, %0", "a parameter of the distribution is no number");
  EXPECT_THROW(draw("f32[4]", "random_uniform", "0, 0.0, 1.0", torch::zeros({2})), Error);
}

}  // namespace
}  // namespace antegrad::runtime
