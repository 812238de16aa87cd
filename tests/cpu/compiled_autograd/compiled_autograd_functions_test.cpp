// The C++ autograd interface under compiled autograd: hooks of nodes, custom functions, sparse gradients.
#include <antegrad/antegrad.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/torch.h>

#include <functional>
#include <memory>

#include "cpu/compiled_autograd/compiled_autograd_fixture.h"

namespace antegrad::test {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Captures each program anew.
void same_as_eager(const std::function<variable_list()>& program) {
  compiled_autograd::reset();
  test::same_as_eager(program);
}

struct Doubling : torch::autograd::FunctionPostHook {
  variable_list operator()(const variable_list& outputs, const variable_list&) override {
    variable_list out;
    for (const auto& output : outputs) out.push_back(output.defined() ? output * 2 : output);
    return out;
  }
};

struct Adding : torch::autograd::FunctionPreHook {
  variable_list operator()(const variable_list& gradients) override {
    variable_list out;
    for (const auto& gradient : gradients) out.push_back(gradient.defined() ? gradient + 1 : gradient);
    return out;
  }
};

// CAU-21
TEST(CompiledAutogradFunctions, HooksOfNodesReplaceGradients) {
  same_as_eager([] {
    const auto x = leaf({4});
    const auto h = x.sin();
    h.grad_fn()->add_pre_hook(std::make_unique<Adding>());
    h.grad_fn()->add_post_hook(std::make_unique<Doubling>());
    (h * h).sum().backward();
    return variable_list{x.grad()};
  });
}

struct Replacing : torch::autograd::FunctionPostHook {
  explicit Replacing(Tensor leaf) : leaf_(std::move(leaf)) {}
  variable_list operator()(const variable_list& outputs, const variable_list&) override {
    leaf_.mutable_grad() = leaf_.grad() * 3;
    return outputs;
  }
  Tensor leaf_;
};

// CAU-23
TEST(CompiledAutogradFunctions, AHookOfTheAccumulatorMayReplaceGrad) {
  same_as_eager([] {
    const auto x = leaf({4});
    const auto accumulator = torch::autograd::impl::grad_accumulator(x);
    accumulator->add_post_hook(std::make_unique<Replacing>(x));
    x.sin().sum().backward();
    accumulator->post_hooks().clear();  // the hook holds the leaf
    return variable_list{x.grad()};
  });
}

struct SizeOnContext : torch::autograd::Function<SizeOnContext> {
  static Tensor forward(AutogradContext* context, const Tensor& x) {
    context->save_for_backward({x, x});
    context->saved_data["rows"] = x.size(0);
    return x.exp();
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto saved = context->get_saved_variables();
    return {gradients[0] * saved[0].exp() * saved[1].size(0) / context->saved_data["rows"].toInt()};
  }
};

// CAU-29
TEST(CompiledAutogradFunctions, SizesOfSavedTensors) {
  same_as_eager([] {
    variable_list out;
    for (int64_t rows : {2, 3, 4}) {
      const auto x = leaf({rows});
      SizeOnContext::apply(x.sin()).sum().backward();
      out.push_back(x.grad());
    }
    return out;
  });
}

template <int kFactor>
struct Times : torch::autograd::Function<Times<kFactor>> {
  static Tensor forward(AutogradContext*, const Tensor& x) { return x * 2; }
  static variable_list backward(AutogradContext*, variable_list gradients) {
    return {gradients[0] * kFactor};
  }
};

// CAU-30
TEST(CompiledAutogradFunctions, FunctionsThatLookAlikeAreKeptApart) {
  same_as_eager([] {
    const auto x = leaf({4}), y = leaf({4});
    Times<2>::apply(x.sin()).sum().backward();
    Times<3>::apply(y.sin()).sum().backward();
    return variable_list{x.grad(), y.grad()};
  });
}

struct OfLists : torch::autograd::Function<OfLists> {
  static variable_list forward(AutogradContext* context, const Tensor& x, at::TensorList others,
                               int64_t power) {
    context->saved_data["power"] = power;
    context->save_for_backward({x, others[0], others[1]});
    return {x * others[0], x * others[1]};
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto saved = context->get_saved_variables();
    return {gradients[0] * saved[1] + gradients[1] * saved[2], gradients[0] * saved[0],
            gradients[1] * saved[0], Tensor()};
  }
};

// CAU-41
TEST(CompiledAutogradFunctions, IntegersAndListsOfTensors) {
  same_as_eager([] {
    const auto x = leaf({4}), a = leaf({4}), b = leaf({4});
    const auto out = OfLists::apply(x.sin(), at::TensorList({a, b}), int64_t{2});
    (out[0] + out[1].exp()).sum().backward();
    return variable_list{x.grad(), a.grad(), b.grad()};
  });
}

struct Undefined : torch::autograd::Function<Undefined> {
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor&) {
    context->save_for_backward({Tensor(), x});
    return x * 2;
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    EXPECT_FALSE(context->get_saved_variables()[0].defined());
    return {gradients[0] * 2, Tensor()};
  }
};

// CAU-43
TEST(CompiledAutogradFunctions, UndefinedGradientsAndSlots) {
  same_as_eager([] {
    const auto x = leaf({4}), y = leaf({4});
    Undefined::apply(x.sin(), y.cos()).sum().backward();
    return variable_list{x.grad(), y.grad()};
  });
}

struct TwoResults : torch::autograd::Function<TwoResults> {
  static variable_list forward(AutogradContext* context, const Tensor& x, bool materialize) {
    context->set_materialize_grads(materialize);
    return {x * 2, x * 3};
  }
  static variable_list backward(AutogradContext*, variable_list gradients) {
    auto sum = gradients[0] * 2;
    if (gradients[1].defined()) sum = sum + gradients[1] * 3 + 1;
    return {sum, Tensor()};
  }
};

// CAU-44
TEST(CompiledAutogradFunctions, MissingGradientsAreZerosOrUndefined) {
  for (const bool materialize : {true, false})
    same_as_eager([materialize] {
      const auto x = leaf({4});
      TwoResults::apply(x.sin(), materialize)[0].sum().backward();
      return variable_list{x.grad()};
    });
}

struct InPlace : torch::autograd::Function<InPlace> {
  static Tensor forward(AutogradContext* context, Tensor x) {
    x.mul_(2);
    context->mark_dirty({x});
    return x;
  }
  static variable_list backward(AutogradContext*, variable_list gradients) { return {gradients[0] * 2}; }
};

// CAU-45
TEST(CompiledAutogradFunctions, DirtyArguments) {
  same_as_eager([] {
    const auto x = leaf({4});
    const auto h = x.sin();
    const auto version = h._version();
    const auto out = InPlace::apply(h);
    EXPECT_GT(h._version(), version);
    (out * out).sum().backward();
    return variable_list{x.grad()};
  });
}

struct WithIndices : torch::autograd::Function<WithIndices> {
  static variable_list forward(AutogradContext* context, const Tensor& x) {
    const auto signs = x.sign();
    context->mark_non_differentiable({signs});
    context->save_for_backward({signs});
    return {x.abs(), signs};
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    EXPECT_TRUE(at::equal(gradients[1], torch::zeros_like(gradients[1])));
    return {gradients[0] * context->get_saved_variables()[0]};
  }
};

// CAU-46
TEST(CompiledAutogradFunctions, ResultsThatAreNotDifferentiable) {
  same_as_eager([] {
    const auto x = leaf({4});
    const auto out = WithIndices::apply(x.sin());
    EXPECT_FALSE(out[1].requires_grad());
    (out[0] * out[1]).sum().backward();
    return variable_list{x.grad()};
  });
}

struct TooLarge : torch::autograd::Function<TooLarge> {
  static Tensor forward(AutogradContext*, const Tensor& x) { return x * 2; }
  static variable_list backward(AutogradContext*, variable_list gradients) {
    return {gradients[0].expand({3, gradients[0].size(0)})};
  }
};

// CAU-51
TEST(CompiledAutogradFunctions, AGradientThatIsTooLargeIsSummed) {
  same_as_eager([] {
    const auto x = leaf({4});
    TooLarge::apply(x.sin()).sum().backward();
    return variable_list{x.grad()};
  });
}

// CAU-18, CAU-19
TEST(CompiledAutogradFunctions, SparseGradients) {
  same_as_eager([] {
    const auto index = torch::tensor({1, 3, 1});
    const auto sparse = [&](const Tensor& table) { return torch::embedding(table, index, -1, false, true); };
    const auto dense = [&](const Tensor& table) { return torch::embedding(table, index); };
    variable_list out;
    for (const int which : {0, 1, 2}) {
      const auto table = leaf({5, 2});
      (which == 1 ? dense(table) : sparse(table)).exp().sum().backward();
      (which == 2 ? dense(table) : sparse(table)).sin().sum().backward();
      out.push_back(table.grad());
    }
    return out;
  });
}

// CAU-50
TEST(CompiledAutogradFunctions, NodesGoWithTheirResults) {
  const CompiledAutograd on;
  std::weak_ptr<torch::autograd::Node> node;
  {
    const auto x = leaf({4});
    const auto y = Times<2>::apply(x.sin());
    node = y.grad_fn();
    y.sum().backward();
  }
  EXPECT_TRUE(node.expired());
}

}  // namespace
}  // namespace antegrad::test
