// Which calls an existing capture may serve.
#include "support/against_eager.h"
#include "support/seeds.h"

namespace antegrad::test {
namespace {

using at::Tensor;

/// Calls both with equal arguments and compares arguments and results.
template <class F, class C, class Make>
void call_both(const F& function, const C& compiled, const Make& make) {
  Worlds worlds;
  auto arguments = [&] {
    test::manual_seed(3);
    return make();
  };
  auto eager = arguments();
  auto mine = arguments();
  worlds.add("input", tensors_of(eager), tensors_of(mine), false);
  auto expected = std::apply(function, eager);
  auto actual = std::apply(compiled, mine);
  worlds.add("output", tensors_of(expected), tensors_of(actual), true);
  worlds.compare("call");
}

auto apart() { return std::tuple(torch::randn({4}), torch::randn({4})); }
auto apart_on_one_storage() {
  auto base = torch::randn({8});
  return std::tuple(base.slice(0, 0, 4), base.slice(0, 4, 8));
}
auto meeting_at(int64_t offset) {
  return [offset] {
    auto base = torch::randn({8});
    return std::tuple(base.slice(0, 0, 4), base.slice(0, offset, offset + 4));
  };
}
auto change_first(const Tensor& a, const Tensor& b) {
  a.mul_(2);
  return a.sum() + b;
}
auto read_both(const Tensor& a, const Tensor& b) { return a * 2 + b; }

TEST(Reuse, AnotherOverlapIsCapturedAnew) {  // ALI-45
  auto compiled = compile(change_first);
  call_both(change_first, compiled, meeting_at(1));
  call_both(change_first, compiled, meeting_at(1));
  EXPECT_EQ(compiled.report().captures, 1U);
  call_both(change_first, compiled, meeting_at(3));
  ASSERT_EQ(compiled.report().captures, 2U);
  EXPECT_NE(compiled.report().recapture_reasons.at(0).find("inputs 0 and 1 no longer overlap as they did"),
            std::string::npos)
      << compiled.report().recapture_reasons.at(0);
  call_both(change_first, compiled, meeting_at(1));
  EXPECT_EQ(compiled.report().captures, 2U);
}

TEST(Reuse, AnotherOverlappingSetIsCapturedAnew) {  // ALI-45
  auto function = [](const Tensor& a, const Tensor& b, const Tensor& c) {
    a.add_(1);
    return b * 2 + c;
  };
  auto first_two = [] {
    auto x = torch::randn({4});
    return std::tuple(x, x.view({4}), torch::randn({4}));
  };
  auto outer_two = [] {
    auto x = torch::randn({4});
    return std::tuple(x, torch::randn({4}), x.view({4}));
  };
  auto last_two = [] {
    auto x = torch::randn({4});
    return std::tuple(torch::randn({4}), x, x.view({4}));
  };
  auto compiled = compile(function);
  call_both(function, compiled, first_two);
  call_both(function, compiled, outer_two);
  EXPECT_EQ(compiled.report().captures, 2U);
  call_both(function, compiled, last_two);
  call_both(function, compiled, first_two);
}

TEST(Reuse, ApartThenOverlapping) {  // ALI-46
  for (const bool one_storage : {false, true}) {
    SCOPED_TRACE(one_storage);
    auto compiled = compile(change_first);
    if (one_storage)
      call_both(change_first, compiled, apart_on_one_storage);
    else
      call_both(change_first, compiled, apart);
    call_both(change_first, compiled, meeting_at(2));
    ASSERT_EQ(compiled.report().captures, 2U);
    EXPECT_NE(compiled.report().recapture_reasons.at(0).find("input 0 is written and now overlaps input 1"),
              std::string::npos)
        << compiled.report().recapture_reasons.at(0);
  }
}

TEST(Reuse, ApartOnOneStorageOrTwoIsTheSame) {  // ALI-47
  auto compiled = compile(change_first);
  call_both(change_first, compiled, apart_on_one_storage);
  call_both(change_first, compiled, apart);
  call_both(change_first, compiled, meeting_at(4));
  EXPECT_EQ(compiled.report().captures, 1U);
}

TEST(Reuse, OverlapOfInputsThatAreOnlyRead) {  // ALI-47
  auto compiled = compile(read_both);
  call_both(read_both, compiled, apart);
  call_both(read_both, compiled, meeting_at(1));
  call_both(read_both, compiled, meeting_at(0));
  call_both(read_both, compiled, [] {
    auto x = torch::randn({4});
    return std::tuple(x, x);
  });
  EXPECT_EQ(compiled.report().captures, 1U) << ::testing::PrintToString(compiled.report().recapture_reasons);
}

TEST(Reuse, MetadataChangesImposeNoOverlapCondition) {  // ALI-47
  auto function = [](const Tensor& a, const Tensor& b) {
    a.unsqueeze_(0);
    return b + 1;
  };
  auto compiled = compile(function);
  call_both(function, compiled, apart);
  call_both(function, compiled, meeting_at(1));
  EXPECT_EQ(compiled.report().captures, 1U) << ::testing::PrintToString(compiled.report().recapture_reasons);
}

TEST(Reuse, EqualArgumentsThenDifferentOnes) {  // ALI-48
  auto function = [](const Tensors& list, const Tensor& x) {
    list[0].add_(1);
    return list[1] * x;
  };
  auto all_equal = [] {
    auto x = torch::randn({4});
    return std::tuple(Tensors{x, x}, x);
  };
  auto two_equal = [] {
    auto x = torch::randn({4});
    return std::tuple(Tensors{x, torch::randn({4})}, x);
  };
  auto different = [] {
    return std::tuple(Tensors{torch::randn({4}), torch::randn({4})}, torch::randn({4}));
  };
  auto compiled = compile(function);
  call_both(function, compiled, all_equal);
  call_both(function, compiled, different);
  call_both(function, compiled, two_equal);
  EXPECT_EQ(compiled.report().captures, 3U);
  call_both(function, compiled, all_equal);
  call_both(function, compiled, different);
  EXPECT_EQ(compiled.report().captures, 3U);
}

TEST(Reuse, ReturnedIdentityOfEqualArguments) {  // ALI-48
  auto function = [](const Tensor& a, const Tensor& b) { return std::tuple(b, a.view({-1}), b.view({-1})); };
  auto compiled = compile(function);
  call_both(function, compiled, [] {
    auto x = torch::randn({4});
    return std::tuple(x, x);
  });
  call_both(function, compiled, apart);
  call_both(function, compiled, meeting_at(1));
}

TEST(Reuse, ArgumentEqualToACapturedTensor) {  // ALI-48
  auto weight = torch::zeros({4});
  auto compiled = compile([weight](const Tensor& x) {
    weight.add_(1);
    return x * 2;
  });
  EXPECT_EQ(compiled(weight).sum().item<float>(), 8.0F);
  EXPECT_EQ(compiled(torch::zeros({4})).sum().item<float>(), 0.0F);
  EXPECT_EQ(weight.sum().item<float>(), 8.0F);
  EXPECT_EQ(compiled(weight).sum().item<float>(), 24.0F);
  EXPECT_EQ(compiled.report().captures, 2U);
}

TEST(Reuse, ChangedRequiresGrad) {  // ALI-49
  at::NoGradGuard no_grad;
  auto function = [](const Tensor& a) {
    return std::tuple(a.requires_grad() ? a * 2 : a * 3, a.view({-1}), a);
  };
  auto plain = [] { return std::tuple(torch::randn({2, 2})); };
  auto leaf = [] { return std::tuple(torch::randn({2, 2}).requires_grad_()); };
  auto compiled = compile(function);
  call_both(function, compiled, plain);
  call_both(function, compiled, leaf);
  EXPECT_EQ(compiled.report().captures, 2U);
  EXPECT_NE(compiled.report().recapture_reasons.at(0).find("requires_grad"), std::string::npos);
  call_both(function, compiled, plain);
  EXPECT_EQ(compiled.report().captures, 2U);
}

TEST(Reuse, SizesStridesDtypesAndNumbers) {
  auto function = [](const Tensor& a, int64_t n, const std::string& mode) {
    return mode == "sum" ? a.sum() * n : a.view({-1}) + n;
  };
  auto compiled = compile(function);
  auto call = [&](const Tensor& a, int64_t n, const std::string& mode) {
    call_both(function, compiled, [&] { return std::tuple(a, n, mode); });
    return compiled.report().captures;
  };
  auto x = torch::randn({2, 3});
  EXPECT_EQ(call(x, 2, "sum"), 1U);
  EXPECT_EQ(call(torch::randn({2, 3}), 2, "sum"), 1U);
  EXPECT_EQ(call(x, 3, "sum"), 2U);
  EXPECT_EQ(call(x, 3, "flat"), 3U);
  EXPECT_EQ(call(x.to(at::kDouble), 3, "flat"), 4U);
  EXPECT_EQ(call(torch::randn({3, 2}), 3, "flat"), 5U);
  EXPECT_EQ(call(torch::randn({3, 2}).t(), 3, "sum"), 6U);
  EXPECT_EQ(call(x, 2, "sum"), 6U);
}

TEST(Reuse, OffsetsMatterOnlyWhereTheProgramReadsThem) {
  auto sum = [](const Tensor& a) { return a.sum(); };
  auto compiled = compile(sum);
  auto base = torch::randn({10});
  for (const int64_t offset : {0, 3, 5})
    call_both(sum, compiled, [&] { return std::tuple(base.slice(0, offset, offset + 4)); });
  EXPECT_EQ(compiled.report().captures, 1U);
  auto absolute = [](const Tensor& a) { return a.as_strided({2}, {1}, 1) + a.storage_offset(); };
  auto second = compile(absolute);
  for (const int64_t offset : {0, 3, 5})
    call_both(absolute, second, [&] { return std::tuple(base.slice(0, offset, offset + 4)); });
}

}  // namespace
}  // namespace antegrad::test
