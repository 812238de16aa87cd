// Ops whose results are unused and which throw because of their data: eager runs them, so compiled calls must
// throw too.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "support/same_as_eager.h"

namespace {

using antegrad::compile;
using at::Tensor;

struct Program {
  std::string name;
  std::function<void(const Tensor& table, const Tensor& numbers)> unread;
};

Tensor places() { return torch::tensor({0, 9}); }

const std::vector<Program>& programs() {
  static const std::vector<Program> all = {
      {"index_select", [](const Tensor& t, const Tensor& i) { t.index_select(0, i); }},
      {"gather", [](const Tensor& t, const Tensor& i) { t.gather(0, i.unsqueeze(1)); }},
      {"take", [](const Tensor& t, const Tensor& i) { t.take(i * 10); }},
      {"index", [](const Tensor& t, const Tensor& i) { t.index({i}); }},
      {"embedding", [](const Tensor& t, const Tensor& i) { at::embedding(t, i).sum(); }},
      {"embedding_bag",
       [](const Tensor& t, const Tensor& i) { at::embedding_bag(t, i, at::zeros({1}, at::kLong)); }},
      {"scatter", [](const Tensor& t, const Tensor& i) { t.scatter(0, i.unsqueeze(1), 1.0); }},
      {"index_add", [](const Tensor& t, const Tensor& i) { t.index_add(0, i, t.slice(0, 0, 2)); }},
      {"index_copy", [](const Tensor& t, const Tensor& i) { t.index_copy(0, i, t.slice(0, 0, 2)); }},
      {"index_fill", [](const Tensor& t, const Tensor& i) { t.index_fill(0, i, 1.0); }},
      {"index_put", [](const Tensor& t, const Tensor& i) { t.index_put({i}, t[0]); }},
      {"index_add_", [](const Tensor& t, const Tensor& i) { t.clone().index_add_(0, i, t.slice(0, 0, 2)); }},
      {"masked_scatter", [](const Tensor& t, const Tensor&) { t.masked_scatter(t.isfinite(), t[0]); }},
      {"nll_loss", [](const Tensor& t, const Tensor& i) { at::nll_loss(t.slice(0, 0, 2), i); }},
      {"cross_entropy",
       [](const Tensor& t, const Tensor& i) { at::cross_entropy_loss(t.slice(0, 0, 2), i); }},
      {"multi_margin_loss",
       [](const Tensor& t, const Tensor& i) { at::multi_margin_loss(t.slice(0, 0, 2), i); }},
      {"binary_cross_entropy", [](const Tensor& t, const Tensor&) { at::binary_cross_entropy(t + 7, t); }},
      {"remainder", [](const Tensor&, const Tensor& i) { i.remainder(i); }},
      {"remainder by a number", [](const Tensor&, const Tensor& i) { i.remainder(0); }},
      {"fmod", [](const Tensor&, const Tensor& i) { i.fmod(i); }},
      {"floor_divide", [](const Tensor&, const Tensor& i) { i.floor_divide(i); }},
      {"div", [](const Tensor&, const Tensor& i) { at::div(i, i, "trunc"); }},
      {"inv", [](const Tensor& t, const Tensor&) { at::linalg_inv(at::zeros_like(t.slice(0, 0, 3))); }},
      {"cholesky", [](const Tensor& t, const Tensor&) { at::linalg_cholesky(-at::eye(3, t.options())); }},
      {"solve",
       [](const Tensor& t, const Tensor&) {
         at::linalg_solve(at::zeros({3, 3}), t.t());
       }},
      {"eigh", [](const Tensor& t, const Tensor&) { at::linalg_eigh(t.slice(0, 0, 3) / 0); }},
      {"svd", [](const Tensor& t, const Tensor&) { at::linalg_svd((t - t) / 0); }},
  };
  return all;
}

/// Returns what a call throws, without LibTorch's backtrace; "" if it throws nothing.
template <class F>
std::string error_of(F&& call) {
  try {
    call();
  } catch (const c10::Error& error) {
    return error.what_without_backtrace();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

TEST(UnreadErrors, AreThoseOfEager) {
  const auto table = torch::rand({4, 3});
  for (const auto& program : programs()) {
    const auto function = [&program](const Tensor& table, const Tensor& numbers) {
      program.unread(table, numbers);
      return table * 2;
    };
    const auto eager = error_of([&] { function(table, places()); });
    ASSERT_NE(eager, "") << program.name;
    EXPECT_EQ(eager, error_of([&] { compile(function)(table, places()); })) << program.name;
  }
}

TEST(UnreadErrors, AreThereInEachCallAndNotWithoutReason) {
  const auto table = torch::rand({4, 3});
  auto compiled = compile([](const Tensor& table, const Tensor& places) {
    table.index_select(0, places);
    return table * 2;
  });
  EXPECT_TRUE(compiled(table, torch::tensor({0, 1})).equal(table * 2));
  EXPECT_NE(error_of([&] { compiled(table, places()); }), "");
  EXPECT_TRUE(compiled(table, torch::tensor({0, 3})).equal(table * 2));
  EXPECT_EQ(compiled.report().captures, 1U);
}

TEST(UnreadErrors, AreThereInTrainingToo) {
  auto table = torch::rand({4, 3}, torch::requires_grad());
  auto compiled = compile([](const Tensor& table, const Tensor& places) {
    table.index_select(0, places).sum();
    return (table * table).sum();
  });
  EXPECT_NE(error_of([&] { compiled(table, places()); }), "");
  compiled(table, torch::tensor({0, 1})).backward();
  EXPECT_TRUE(table.grad().equal(2 * table.detach()));
}

TEST(UnreadErrors, OfASliceOfWhatIsComputed) {
  const auto table = torch::rand({4, 3});
  const auto function = [](const Tensor& table, const Tensor& places) {
    return table.index_select(0, places).slice(0, 0, 1) * 2;
  };
  EXPECT_NE(error_of([&] { function(table, places()); }), "");
  EXPECT_NE(error_of([&] { compile(function)(table, places()); }), "");
}

TEST(UnreadErrors, CanBeLeftOut) {
  antegrad::Options options;
  options.disabled_passes = {"keep_errors"};
  auto compiled = compile(
      [](const Tensor& table, const Tensor& places) {
        table.index_select(0, places);
        return table * 2;
      },
      options);
  const auto table = torch::rand({4, 3});
  EXPECT_TRUE(compiled(table, places()).equal(table * 2));
}

// Where all results are read, no op is kept for its errors alone, in neither pass.
TEST(UnreadErrors, CostNothingWhereEverythingIsRead) {
  torch::nn::Embedding embedding(10, 4);
  auto compiled = compile([&](const Tensor& places, const Tensor& target) {
    return torch::nll_loss(torch::log_softmax(embedding->forward(places), 1), target);
  });
  compiled(torch::tensor({1, 2}), torch::tensor({0, 1})).backward();
  EXPECT_EQ(compiled.graph().find("ordered"), std::string::npos) << compiled.graph();
}

}  // namespace
