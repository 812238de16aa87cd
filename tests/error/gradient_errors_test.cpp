// What is refused where gradients flow, and errors of the backward pass.
#include "error/expect_error.h"

namespace antegrad::test {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

Tensor leaf(at::IntArrayRef sizes) { return torch::randn(sizes).requires_grad_(); }
Tensor activation(at::IntArrayRef sizes) { return leaf(sizes) * 2; }

TEST(GradientErrors, AHookOnAnArgument) {
  for (const auto& a : {leaf({3}), activation({3})}) {
    auto compiled = compile([](const Tensor& a) {
      a.register_hook([](const Tensor& gradient) { return gradient * 5; });
      return a * 2;
    });
    expect_error(ErrorCode::NeedsGrad, "capture", "the function registers a hook on argument 0", {a},
                 [&] { compiled(a); });
  }
}

// --- inputs that share memory

TEST(GradientErrors, WrittenDetachedAliasOfALeaf) {
  auto a = leaf({4});
  auto alias = a.detach();
  auto compiled = compile([](const Tensor& x, const Tensor& y) {
    y.mul_(2);
    return x * 3;
  });
  expect_error(ErrorCode::NeedsGrad, "functionalize", "shares memory with another input that is written",
               {a, alias}, [&] { compiled(a, alias); });
  auto apart = torch::ones({4});
  EXPECT_TRUE(compiled(a, apart).equal(a * 3));
}

// --- tensors with two names

template <class F>
void expect_two_names(const F& function, const char* stage, const char* text, const Tensor& x,
                      const Tensor& y) {
  auto compiled = compile(function);
  expect_error(ErrorCode::NeedsGrad, stage, text, {x, y}, [&] { compiled(x, y); });
}

TEST(GradientErrors, RequiresGradOfAnArgumentThatIsAlsoCaptured) {
  const auto v = torch::ones({2});
  expect_two_names(
      [v](const Tensor& x, const Tensor&) {
        x.requires_grad_();
        return v * v;
      },
      "capture:requires_grad_",
      "the function changes requires_grad of argument 0, and uses a captured tensor ('lifted0'), which is "
      "the same tensor",
      v, torch::ones({2}));
  // Used under one name, it works.
  auto compiled = compile([](const Tensor& x) {
    x.requires_grad_();
    return x * x;
  });
  EXPECT_TRUE(compiled(v).requires_grad());
  EXPECT_TRUE(v.requires_grad());
}

TEST(GradientErrors, RequiresGradOfACapturedTensorThatIsAlsoAnArgument) {
  const auto v = torch::ones({2});
  expect_two_names(
      [v](const Tensor& x, const Tensor&) {
        (v + 1).sum();
        v.requires_grad_();
        return x * x;
      },
      "capture:requires_grad_",
      "the function changes requires_grad of a captured tensor ('lifted0'), and uses argument 0, which is "
      "the same tensor",
      v, torch::ones({2}));
}

TEST(GradientErrors, RequiresGradOfABaseWhoseViewIsAnArgument) {
  const auto base = torch::ones({2, 3});
  expect_two_names(
      [](const Tensor& x, const Tensor& y) {
        x.requires_grad_();
        return y * y;
      },
      "capture:requires_grad_", "and uses argument 1, which is a view of it", base, base.select(0, 1));
}

TEST(GradientErrors, DetachOfAnArgumentThatIsAlsoCaptured) {
  const auto v = activation({2});
  expect_two_names(
      [v](const Tensor& x, const Tensor&) {
        x.detach_();
        return v * v;
      },
      "capture:detach_", "and uses a captured tensor ('lifted0'), which is the same tensor", v,
      torch::ones({2}));
}

// --- metadata

TEST(GradientErrors, ShapeChangeOfAViewThatAutogradSees) {
  auto compiled = compile([](const Tensor& a) {
    a.t_();
    return a * 2;
  });
  auto whole = activation({4, 3});
  auto part = whole.slice(0, 0, 2);
  expect_error(ErrorCode::NeedsGrad, "run",
               "input 0 is a view, and is changed in shape while autograd records", {whole, part},
               [&] { compiled(part); });
}

TEST(GradientErrors, RunEagerlyIfAsked) {
  Options options;
  options.unsupported = Unsupported::Eager;
  auto compiled = compile(
      [](const Tensor& a, const Tensor& alias) {
        alias.mul_(2);
        return a * 3;
      },
      options);
  auto whole = activation({4});
  auto out = compiled(whole, whole.detach());
  EXPECT_TRUE(out.requires_grad());
  EXPECT_NE(out.grad_fn()->name(), "AntegradBackward");
  EXPECT_EQ(compiled.report().eager_calls, 1U);
}

// --- leaves made inside

TEST(GradientErrors, AReturnedLeafThatGradientsReach) {
  auto compiled = compile([](const Tensor& a) {
    auto b = a.detach().clone().requires_grad_();
    return std::pair(b, b * a);
  });
  auto a = leaf({3});
  expect_error(ErrorCode::NeedsGrad, "capture", "leaf", {a}, [&] { compiled(a); });
}

// --- backward() inside the function

TEST(GradientErrors, BackwardBeyondAnArgument) {
  auto compiled = compile([](const Tensor& a) {
    (a * a).sum().backward();
    return a * 2;
  });
  auto a = activation({3});
  expect_error(ErrorCode::UnsupportedOp, "capture:backward",
               "backward() inside the function would continue past an argument that is not a leaf", {a},
               [&] { compiled(a); });
}

TEST(GradientErrors, BackwardIntoALeaf) {
  auto compiled = compile([](const Tensor& a) {
    (a * a).sum().backward();
    return a * 2;
  });
  auto a = leaf({3});
  expect_error(ErrorCode::UnsupportedOp, "capture", "the function sets the .grad of argument 0", {a},
               [&] { compiled(a); });
}

TEST(GradientErrors, SparseGradients) {
  auto compiled = compile([](const Tensor& table, const Tensor& rows) {
    return at::embedding(table, rows, -1, false, /*sparse=*/true);
  });
  auto table = leaf({5, 3});
  auto rows = torch::tensor({1, 4, 1});
  expect_error(ErrorCode::UnsupportedArgument, "capture:aten._sparse_coo_tensor_with_dims_and_tensors",
               "argument 'layout' is a layout other than strided", {table, rows},
               [&] { compiled(table, rows).sum().backward(); });
}

// --- reads of data in a backward pass

struct ReadsItsGradient : torch::autograd::Function<ReadsItsGradient> {
  static Tensor forward(AutogradContext*, const Tensor& x) { return x * 2; }
  static variable_list backward(AutogradContext*, const variable_list& grads) {
    return {grads[0].sum().item<float>() > 0 ? grads[0] : -grads[0]};
  }
};

struct TakesAPointer : torch::autograd::Function<TakesAPointer> {
  static Tensor forward(AutogradContext*, const Tensor& x) { return x * 2; }
  static variable_list backward(AutogradContext*, const variable_list& grads) {
    return {grads[0] * grads[0].const_data_ptr<float>()[0]};
  }
};

/// The data of gradients does not exist when the backward pass is captured, which is during the first call.
template <class Function>
void expect_data_read() {
  auto compiled = compile([](const Tensor& a) { return Function::apply(a); });
  auto a = leaf({3});
  bool thrown = false;
  try {
    compiled(a).sum().backward();
  } catch (const Error& error) {
    thrown = true;
    EXPECT_EQ(error_code_name(error.code()), error_code_name(ErrorCode::DataRead)) << error.what();
  }
  EXPECT_TRUE(thrown);
  EXPECT_FALSE(a.grad().defined());
}

TEST(GradientErrors, ItemInABackward) { expect_data_read<ReadsItsGradient>(); }  // ERR-16
TEST(GradientErrors, PointerInABackward) { expect_data_read<TakesAPointer>(); }  // ERR-16

// --- derivatives that do not exist

TEST(GradientErrors, OfAnOpWithoutADerivative) {  // ERR-25
  auto compiled = compile([](const Tensor& a, const Tensor& b) { return at::nextafter(a, b); });
  auto a = leaf({3});
  auto b = torch::randn({3});
  auto out = compiled(a, b);
  EXPECT_TRUE(out.equal(at::nextafter(a, b)));
  EXPECT_TRUE(out.requires_grad());
  try {
    out.sum().backward();
    ADD_FAILURE() << "no error";
  } catch (const c10::Error& error) {
    EXPECT_NE(std::string(error.what()).find("not implemented"), std::string::npos) << error.what();
  }
}

// --- second derivatives

TEST(GradientErrors, SecondDerivativesOfAWrittenLeaf) {
  auto compiled = compile([](const Tensor& a) {
    {
      at::NoGradGuard no_grad;
      a.mul_(2);
    }
    return a * a * a;
  });
  auto a = leaf({3});
  auto out = compiled(a);
  expect_error(ErrorCode::NeedsGrad, "backward",
               "second derivatives need input 0 as it was before the call wrote to it", {a},
               [&] { torch::autograd::grad({out.sum()}, {a}, {}, true, /*create_graph=*/true); });
}

TEST(GradientErrors, SecondDerivativesThatReadAWrittenCounter) {
  auto counter = torch::zeros({});
  auto compiled = compile([&](const Tensor& a) {
    counter.add_(1);
    return a.pow(3) * counter.clone();
  });
  auto a = leaf({3});
  auto out = compiled(a);
  expect_error(ErrorCode::NeedsGrad, "backward",
               "second derivatives need input 1 as it was before the call wrote to it", {a, counter},
               [&] { torch::autograd::grad({out.sum()}, {a}, {}, true, /*create_graph=*/true); });
}

TEST(GradientErrors, SecondDerivativesOfAFunctionThatChanged) {
  bool changed = false;
  auto compiled = compile([&](const Tensor& a) { return changed ? a.cos() : a.sin(); });
  auto a = leaf({3});
  auto out = compiled(a).sum();
  changed = true;
  expect_error(ErrorCode::GraphChanged, "backward", "does something else than when its result was computed",
               {a}, [&] { torch::autograd::grad({out}, {a}, {}, true, /*create_graph=*/true); });
}

TEST(GradientErrors, SecondDerivativesWhereAnArgumentBecomesALeaf) {
  auto compiled = compile([](const Tensor& x, Tensor y) {
    const auto before = x * y;
    y.requires_grad_();
    return before.sum() + y.exp().sum();
  });
  const auto x = torch::randn({3}).requires_grad_(), y = torch::randn({3});
  const auto first = torch::autograd::grad({compiled(x, y)}, {x, y}, {}, true)[1];
  EXPECT_TRUE(at::allclose(first, y.detach().exp()));
  auto z = torch::randn({3});
  const auto out = compiled(x, z);
  expect_error(ErrorCode::NeedsGrad, "backward", "this compiled function has no second derivatives", {},
               [&] { torch::autograd::grad({out}, {z}, {}, true, true); });
}

}  // namespace
}  // namespace antegrad::test
