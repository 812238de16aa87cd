// Ops, and arguments of ops, that cannot be recorded or made functional.
#include <ATen/CPUGeneratorImpl.h>

#include "error/expect_error.h"

namespace antegrad::test {
namespace {

using at::Tensor;

at::Generator& generator_of_backward() {
  static auto& generator = *new at::Generator(at::make_generator<at::CPUGeneratorImpl>(7));
  return generator;
}

struct NoisyGradient : torch::autograd::Function<NoisyGradient> {
  static Tensor forward(torch::autograd::AutogradContext*, const Tensor& x) { return x * 2; }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext*,
                                                 const torch::autograd::variable_list& gradients) {
    return {gradients[0] + at::randn({3}, generator_of_backward(), at::TensorOptions())};
  }
};

TEST(UnsupportedArgument, GeneratorOfABackwardPass) {
  const auto state = generator_of_backward().get_state();
  auto x = torch::randn({3}).requires_grad_();
  auto compiled = compile([](const Tensor& a) { return NoisyGradient::apply(a); });
  expect_error(ErrorCode::UnsupportedArgument, "capture:aten.randn.generator", "'generator'", {x},
               [&] { compiled(x); });
  EXPECT_TRUE(at::equal(state, generator_of_backward().get_state()));
}

/// As LibTorch does for recurrent nets on a CUDA device.
TEST(UnsupportedArgument, Storage) {
  const auto weights = torch::randn({4});
  auto x = torch::randn({4});
  auto compiled =
      compile([&](const Tensor& a) { return a + at::empty({0}).set_(weights.storage(), 0, {4}, {1}); });
  expect_error(ErrorCode::UnsupportedArgument, "capture:aten.set_.source_Storage_storage_offset",
               "'source' is a storage", {x}, [&] { compiled(x); });
}

/// The function reaches x and state; neither may change.
template <class F>
void expect_unsupported_op(const std::string& where, const std::string& fact, const F& function) {
  auto x = torch::randn({3, 4});
  auto state = torch::randn({3, 4});
  auto compiled = compile([&](const Tensor& a) {
    a.mul_(2);
    return function(a, state);
  });
  expect_error(ErrorCode::UnsupportedOp, where, fact, {x, state}, [&] { compiled(x); });
}

TEST(UnsupportedOp, SetData) {
  expect_unsupported_op("capture:set_data", "set_data", [](const Tensor& a, const Tensor& s) {
    auto copy = a + 1;
    copy.set_data(s);
    return copy;
  });
  expect_unsupported_op("capture", "replaces the data or the .grad of a tensor of shape [3, 4]",
                        [](const Tensor& a, const Tensor& s) {
                          auto sum = a + s;
                          s.set_data(sum);
                          return sum + 1;
                        });
}

TEST(UnsupportedOp, BackwardIntoATensorFromOutside) {
  auto weight = torch::randn({3}).requires_grad_();
  auto x = torch::randn({3});
  auto compiled = compile([&](const Tensor& a) {
    (a * weight).sum().backward();
    return a + 1;
  });
  expect_error(ErrorCode::UnsupportedOp, "capture", "replaces the data or the .grad", {x, weight},
               [&] { compiled(x); });
  EXPECT_FALSE(weight.grad().defined());
}

TEST(UnsupportedOp, BackwardIntoAGradThatExistsIsAMutationLikeOthers) {
  auto weight = torch::randn({3}).requires_grad_();
  auto x = torch::randn({3});
  auto compiled = compile([&](const Tensor& a) {
    (a * weight).sum().backward();
    return a + 1;
  });
  weight.mutable_grad() = torch::ones({3});
  const auto grad = weight.grad();
  compiled(x);
  EXPECT_TRUE(weight.grad().is_same(grad));
  EXPECT_TRUE(at::equal(grad, torch::ones({3}) + x));
  EXPECT_EQ(grad._version(), 1U);
  EXPECT_EQ(weight._version(), 0U);
}

TEST(UnsupportedOp, MetadataOfATensorFromOutside) {
  expect_unsupported_op("capture:aten.t_", "made outside the function", [](const Tensor& a, const Tensor& s) {
    s.t_();
    return a + 1;
  });
  expect_unsupported_op("capture:aten.resize_", "made outside the function",
                        [](const Tensor& a, const Tensor& s) {
                          s.resize_({2});
                          return a + 1;
                        });
}

TEST(UnsupportedOp, HostMemory) {
  float numbers[12] = {1, 2, 3};
  for (const bool through_view : {false, true}) {
    expect_unsupported_op("capture:from_blob", "writes to memory of the host",
                          [&](const Tensor& a, const Tensor&) {
                            auto blob = at::from_blob(numbers, {3, 4});
                            (through_view ? blob.view({3, 4}) : blob).copy_(a);
                            return a + blob;
                          });
  }
  expect_unsupported_op(
      "capture:from_blob", "writes to memory of the host", [&](const Tensor& a, const Tensor&) {
        auto blob = torch::from_blob(numbers, {3, 4});  // this overload makes its tensor by detach()
        blob.copy_(a);
        return a + blob;
      });
  EXPECT_EQ(numbers[0], 1.0F);
  expect_unsupported_op("capture:data_ptr", "an op has already used", [](const Tensor& a, const Tensor&) {
    auto made = torch::empty({4});
    made.data_ptr<float>()[0] = 1;
    auto sum = a + made;
    made.data_ptr<float>()[0] = 2;
    return sum + made;
  });
}

TEST(UnsupportedOp, StoragesThatCannotBeFunctional) {
  expect_unsupported_op("functionalize:aten.resize_", "larger than the memory",
                        [](const Tensor& a, const Tensor&) {
                          auto row = (a + 1)[0];
                          row.resize_({40});
                          return row.fill_(1);
                        });
}

TEST(UnsupportedOp, GrowingAPartOfALargerStorage) {
  torch::NoGradGuard no_grad;
  auto whole = torch::arange(6.f);
  auto part = whole.slice(0, 0, 3);
  auto grow = compile([](const Tensor& a) { return a.resize_({6}) + 0; });
  try {
    grow(part);
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::UnsupportedOp) << error.what();
  }
  EXPECT_TRUE(torch::equal(whole, torch::arange(6.f)));
  auto alone = torch::arange(3.f);
  EXPECT_EQ(grow(alone).size(0), 6);
  EXPECT_EQ(alone.size(0), 6);
  EXPECT_THROW(grow(whole.slice(0, 3, 6)), Error);
}

}  // namespace
}  // namespace antegrad::test
