// What the host does besides calling ops: pointers, variables, seeds, settings, exceptions.
#include <ATen/autocast_mode.h>

#include <sstream>

#include "cpu/breaks/in_parts.h"

namespace antegrad::test {
namespace {

Tensors two_leaves(int) { return {leaf({4, 3}), leaf({3, 3})}; }

TEST(BreaksAndHost, PointersToMemoryOfTensorsMadeInside) {
  same_in_parts(
      [](const Tensors& in) -> Tensors {
        auto y = torch::zeros({3});
        auto accessor = y.accessor<float, 1>();
        auto sum = in[0].sum() + torch::zeros({3});
        for (int i = 0; i < 3; ++i) {
          accessor[i] = 1;
          sum = sum + y;  // must not see what the host writes later
        }
        auto z = in[0].detach() * 2;
        const auto* data = z.const_data_ptr<float>();
        z.add_(1);
        auto w = in[0] * 2;  // with a history
        const auto* first = w.const_data_ptr<float>();
        auto product = w * first[0];
        return {sum, torch::full({}, data[0]), product * w};
      },
      two_leaves);
}

TEST(BreaksAndHost, PointersToMemoryOfTensorsFromOutside) {
  auto outer = torch::zeros({3});
  same_in_parts(
      [&](const Tensors& in) -> Tensors {
        in[0].add_(1);
        auto first = in[1] * in[0].data_ptr<float>()[0];  // what the op has written
        auto before = in[1].exp() + in[0];
        in[0].data_ptr<float>()[0] = 7;  // not seen by ops before
        outer.copy_(in[0][0]);
        auto last = before * outer.accessor<float, 1>()[2];
        return {first, before, last};
      },
      [](int) {
        return Tensors{torch::rand({3, 3}), leaf({3, 3})};
      },
      {.second_order = false});
}

TEST(BreaksAndHost, PointersToRunningStatistics) {
  torch::nn::BatchNorm1d norm(3);
  auto program = [](torch::nn::BatchNorm1d& norm, const at::Tensor& x) {
    auto y = norm(x);
    return y.sum() * norm->running_mean.data_ptr<float>()[1];
  };
  torch::nn::BatchNorm1d other(3);
  auto compiled = compile([&](const at::Tensor& x) { return program(other, x); }, in_parts());
  for (int call = 0; call < 3; ++call) {
    const auto x = torch::randn({4, 3}) + 2;
    EXPECT_TRUE(same(Tensors{program(norm, x)}, Tensors{compiled(x)}));
    EXPECT_TRUE(torch::allclose(norm->running_mean, other->running_mean));
  }
}

TEST(BreaksAndHost, VersionsOfTensorsWrittenByListsOfOps) {
  same_in_parts(
      [](const Tensors& in) -> Tensors {
        auto y = in[0].detach() * 2;
        const auto first = *y.const_data_ptr<float>();
        auto written = in[0].detach();
        at::_foreach_add_(Tensors{written, y}, first);  // runs at once: the host has a pointer
        return {y, written};
      },
      two_leaves);
}

TEST(BreaksAndHost, NoCallRunsTheFunctionTwice) {
  for (const bool breaks : {true, false}) {
    SCOPED_TRACE(breaks);
    int runs = 0;
    at::Tensor state = torch::zeros({2});
    const auto compiled = compile(
        [&](const at::Tensor& x) {
          ++runs;
          state = state + x;
          return breaks ? state * state.sum().item<double>() : state * 2;
        },
        in_parts());
    for (int call = 1; call <= 6; ++call) {
      const auto x = torch::ones({2}, call < 4 ? torch::kFloat : torch::kDouble);
      const auto result = compiled(x);
      EXPECT_EQ(result[0].item<double>(), breaks ? 2 * call * call : 2 * call);
      EXPECT_EQ(runs, call);
    }
  }
}

TEST(BreaksAndHost, SeedsInside) {
  same_in_parts(
      [](const Tensors& in) -> Tensors {
        const auto seed = static_cast<uint64_t>(in[0].detach().abs().sum().item<double>() * 1000);
        auto first = in[0] * torch::rand({});
        test::manual_seed(seed);
        auto a = torch::rand({3});
        test::manual_seed(seed);
        auto b = torch::rand({3});
        test::manual_seed(5);
        return {first, a, b};
      },
      two_leaves);
}

TEST(BreaksAndHost, DefaultDtypeChangedInside) {
  same_in_parts(
      [](const Tensors& in) -> Tensors {
        auto before = torch::ones({2});
        torch::set_default_dtype(torch::scalarTypeToTypeMeta(torch::kDouble));
        const auto largest = in[0].detach().max().item<double>();
        auto y = torch::ones({2}) * largest + torch::linspace(0, 1, 2);
        auto z = torch::arange(3).sqrt() + torch::arange(3) / 2;
        torch::set_default_dtype(torch::scalarTypeToTypeMeta(torch::kFloat));
        return {in[0] * 2, before, y, z, torch::zeros({1})};
      },
      two_leaves, {.second_order = false});
}

TEST(BreaksAndHost, RefusalsThatTheFunctionCatches) {
  const auto program = [](const at::Tensor& x) {
    try {
      return x.sum().item<double>() > 5 ? x * 3 : x * 2;
    } catch (const std::exception&) {
      return x * -1;
    }
  };
  const auto x = torch::ones({2});
  auto options = in_parts();
  EXPECT_TRUE(at::equal(compile(program, options)(x), x * 2));
  options.unsupported = Unsupported::Eager;
  EXPECT_TRUE(at::equal(compile(program, options)(x), x * 2));
  options.unsupported = Unsupported::Error;
  EXPECT_THROW(compile(program, options)(x), Error);
}

}  // namespace
}  // namespace antegrad::test
