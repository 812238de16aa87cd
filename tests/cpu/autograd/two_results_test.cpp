// Backward passes of several results, one after the other, without retain_graph: each works where eager's
// does, and throws where eager's does.
#include <antegrad/antegrad.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <functional>

#include "support/same_as_eager.h"
#include "support/seeds.h"

namespace antegrad::test {
namespace {

using at::Tensor;
using Tensors = std::vector<Tensor>;
using Function = std::function<Tensors(const Tensors&)>;

struct Program {
  std::string name;
  Function function;  ///< of two vectors; returns two or three numbers
};

std::vector<Program> programs() {
  using T = const Tensors&;
  return {
      {"SeparateInputs",
       [](T t) {
         return Tensors{t[0].sin().sum(), t[1].exp().sum()};
       }},
      {"OneInput",
       [](T t) {
         return Tensors{t[0].sin().sum(), t[0].cos().sum()};
       }},
      {"EqualComputations",
       [](T t) {
         return Tensors{t[0].sin().sum(), (t[0].sin() * 2).sum()};
       }},
      {"ASharedPartWithSavedTensors",
       [](T t) {
         const auto h = (t[0] * t[1]).exp();
         return Tensors{h.sum(), (h * 3).sum()};
       }},
      {"ASharedPartWithoutSavedTensors",
       [](T t) {
         const auto h = t[0] + t[1];
         return Tensors{h.sin().sum(), h.cos().sum()};
       }},
      {"NothingSaved",
       [](T t) {
         return Tensors{(t[0] + t[1]).sum(), (t[0] - t[1]).sum()};
       }},
      {"TimesANumber",
       [](T t) {
         return Tensors{(t[0] * 2).sum(), t[1].neg().sum()};
       }},
      {"OneNeedsTheOther",
       [](T t) {
         const auto a = t[0].tanh().sum();
         return Tensors{a, (a * t[1]).sum()};
       }},
      {"TwoOfThreeShare",
       [](T t) {
         const auto h = t[0].sigmoid();
         return Tensors{h.sum(), h.pow(2).sum(), t[1].tanh().sum()};
       }},
      {"MatrixProducts",
       [](T t) {
         const auto a = t[0].view({2, 3}), b = t[1].view({3, 2});
         return Tensors{a.mm(b).relu().sum(), b.mm(a).sigmoid().sum()};
       }},
      {"ActorAndCritic",
       [](T t) {
         const auto body = t[0].view({2, 3});
         return Tensors{body.log_softmax(1).mean(), (body * t[1].view({2, 3})).tanh().pow(2).mean()};
       }},
  };
}

/// A list of passes: each goes through the sum of some results.
using Passes = std::vector<std::vector<size_t>>;
const std::vector<Passes> kOrders{{{0}, {1}},    {{1}, {0}},    {{0}, {0}},
                                  {{0}, {0, 1}}, {{0, 1}, {1}}, {{1}, {0}, {1}}};

/// Runs the passes, up to the first that throws; returns the gradients after each, and what each threw.
std::pair<Tensors, std::vector<std::string>> outcome_of(const Function& function, const Passes& passes) {
  test::manual_seed(3);
  const Tensors inputs{torch::randn({6}).requires_grad_(), torch::randn({6}).requires_grad_()};
  const auto results = function(inputs);
  Tensors gradients;
  std::vector<std::string> errors;
  for (const auto& pass : passes) {
    auto loss = results[pass[0]];
    for (size_t i = 1; i < pass.size(); ++i) loss = loss + results[pass[i]];
    try {
      loss.backward();
      errors.emplace_back();
    } catch (const std::exception& error) {
      errors.push_back(std::string(error.what()).substr(0, 60));
      break;  // gradients are those that the engine had got to
    }
    for (const auto& input : inputs)
      gradients.push_back(input.grad().defined() ? input.grad().clone() : Tensor());
  }
  return {gradients, errors};
}

std::ostream& operator<<(std::ostream& out, const Program& program) { return out << program.name; }

class TwoResults : public ::testing::TestWithParam<Program> {};
TEST_P(TwoResults, PassesInAnyOrder) {
  for (size_t order = 0; order < kOrders.size(); ++order) {
    SCOPED_TRACE("order " + std::to_string(order));
    const auto eager = outcome_of(GetParam().function, kOrders[order]);
    const auto compiled = compile(GetParam().function);
    const auto found = outcome_of([&](const Tensors& t) { return compiled(t); }, kOrders[order]);
    EXPECT_EQ(eager.second, found.second);
    EXPECT_TRUE(same(eager.first, found.first));
  }
}
INSTANTIATE_TEST_SUITE_P(Programs, TwoResults, ::testing::ValuesIn(programs()),
                         [](const auto& info) { return info.param.name; });

int64_t owners(const Tensor& tensor) { return static_cast<int64_t>(tensor.use_count()); }

TEST(TwoResultsMemory, APassReleasesWhatOnlyItReads) {
  const auto compiled =
      compile([](const Tensor& a, const Tensor& b) { return std::pair(a.sin().sum(), b.cos().sum()); });
  const auto a = torch::randn({6}).requires_grad_(), b = torch::randn({6}).requires_grad_();
  const auto [first, second] = compiled(a, b);
  const auto held = std::pair(owners(a), owners(b));
  first.backward();
  EXPECT_LT(owners(a), held.first);
  EXPECT_EQ(owners(b), held.second);
  second.backward();
  EXPECT_LT(owners(b), held.second);
}

TEST(TwoResultsMemory, RetainingAfterwards) {
  const auto compiled =
      compile([](const Tensor& a, const Tensor& b) { return std::pair(a.sin().sum(), b.cos().sum()); });
  const auto a = torch::ones({6}).requires_grad_(), b = torch::ones({6}).requires_grad_();
  const auto [first, second] = compiled(a, b);
  first.backward();
  for (int pass = 0; pass < 3; ++pass) second.backward({}, /*retain_graph=*/true);
  EXPECT_TRUE(same(-3 * b.detach().sin(), b.grad()));
  second.backward();
  EXPECT_THROW(second.backward(), std::exception);
  EXPECT_THROW(first.backward(), std::exception);
}

}  // namespace
}  // namespace antegrad::test
