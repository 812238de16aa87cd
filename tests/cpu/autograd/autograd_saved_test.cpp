// What the backward pass reads: writes to it in between are detected where eager detects them, and it lives
// no longer than in eager.
#include "support/training_like_eager.h"

namespace antegrad::test {
namespace {

using at::Tensor;

/// Writes to a tensor as an optimizer does.
void write(const Tensor& tensor) {
  at::NoGradGuard no_grad;
  tensor.add_(1);
}

auto write_input(size_t n) {
  return [n](const Scene& s) {
    write(s.inputs[n]);
    backward_of_outputs(s);
  };
}
void write_outputs(const Scene& s) {
  for (const auto& output : s.outputs) write(output);
  backward_of_outputs(s);
}

constexpr const char* kModified = "has been modified by an inplace operation";

// --- versions

TEST(SavedVersions, OfInputsThatTheBackwardReads) {
  trained_like_eager([](const Tensor& a, const Tensor& b) { return a * b; }, two_leaves, write_input(0));
  trained_like_eager([](const Tensor& a, const Tensor& b) { return a * b; }, two_activations, write_input(1));
  auto a = leaf({3});
  auto out = compile([](const Tensor& x) { return x.sin(); })(a);
  write(a);
  EXPECT_NE(thrown_by([&] { out.sum().backward(); }).find(kModified), std::string::npos);
}

TEST(SavedVersions, OfInputsThatItDoesNotRead) {
  trained_like_eager([](const Tensor& a) { return a * 2 + 1; }, one_leaf, write_input(0));
  trained_like_eager([](const Tensor& a, const Tensor& b) { return a * b.detach(); },
                     [] { return std::tuple(leaf({3}), torch::randn({3})); }, write_input(0));
}

TEST(SavedVersions, OfInputsOfWhichItReadsAnOutput) {  // sigmoid saves its result, not its input
  trained_like_eager([](const Tensor& a) { return a.sigmoid(); }, one_leaf, write_input(0));
  trained_like_eager([](const Tensor& a) { return a.exp(); }, one_leaf, write_input(0));
}

TEST(SavedVersions, OfInputsThatDoNotRequireGradients) {
  trained_like_eager([](const Tensor& a, const Tensor& b) { return a * b; },
                     [] { return std::tuple(leaf({3}), torch::randn({3})); }, write_input(1));
}

TEST(SavedVersions, OfAViewOfAnInput) {
  trained_like_eager(
      [](const Tensor& a) {
        return a.view({4, 3}).select(0, 1).sin();
      },
      one_leaf, write_input(0));
}

TEST(SavedVersions, OfParameters) {
  auto net = [] {
    auto w = leaf({4, 4});
    return std::pair([w](const Tensor& x) { return at::mm(x, w).tanh(); }, Tensors{w});
  };
  auto write_weight = [](const Scene& s) {
    write(s.captured[0]);
    backward_of_outputs(s);
  };
  TrainingOptions options;
  options.finish = write_weight;
  trained_with_state_like_eager(net, one_leaf, options);  // the weight is read
  trained_with_state_like_eager(
      net,
      [] {
        return std::tuple(torch::randn({3, 4}));
      },
      options);  // the weight is not read
}

/// Saves what eager saves.
TrainingOptions saving_all(const Finish& finish) {
  TrainingOptions options;
  options.compile.policy = SaveAll{};
  options.finish = finish;
  return options;
}

TEST(SavedVersions, OfOutputsThatTheBackwardReads) {
  trained_like_eager([](const Tensor& a) { return a.sigmoid(); }, one_leaf, saving_all(write_outputs));
  trained_like_eager([](const Tensor& a) { return a.exp(); }, one_leaf, saving_all(write_outputs));
  trained_like_eager([](const Tensor& a, const Tensor& b) { return at::softmax(a + b, 1); }, two_leaves,
                     saving_all(write_outputs));
}

TEST(SavedVersions, OfOutputsThatAreComputedAgain) {  // no error, and right gradients
  auto a = leaf({3});
  auto out = compile([](const Tensor& x) { return x.sigmoid(); }, {.policy = RecomputeAll{}})(a);
  const auto expected = torch::autograd::grad({a.sigmoid().sum()}, {a})[0];
  write(out);
  out.sum().backward();
  EXPECT_TRUE(a.grad().allclose(expected));
}

TEST(SavedVersions, OfOutputsThatItDoesNotRead) {
  trained_like_eager([](const Tensor& a) { return a.sin(); }, one_leaf, write_outputs);
  trained_like_eager([](const Tensor& a, const Tensor& b) { return std::tuple(a * b, a + b); }, two_leaves,
                     write_outputs);
}

TEST(SavedVersions, OfAnOutputThatALaterOpReads) {
  trained_like_eager(
      [](const Tensor& a) {
        auto inner = a * 3;
        return std::tuple(inner, inner.sin());
      },
      one_leaf, saving_all([](const Scene& s) {
        write(s.outputs[0]);
        s.outputs[1].sum().backward();
      }));
}

TEST(SavedVersions, OfIntermediatesThatRecomputingWouldReadAnInputFor) {
  trained_like_eager([](const Tensor& a) { return (a * 2).sin().sum(); }, one_leaf, write_input(0));
  trained_like_eager([](const Tensor& a, const Tensor& b) { return (a + b).tanh().sum(); }, two_leaves,
                     write_input(1));
}

TEST(SavedVersions, ABackwardAheadOfTheWriteIsFine) {
  trained_like_eager([](const Tensor& a, const Tensor& b) { return a * b; }, two_leaves,
                     [](const Scene& s) {
                       backward_through(s.outputs, /*retain_graph=*/true);
                       write(s.inputs[0]);
                       backward_of_outputs(s);
                     });
}

/// Optimizers write to data(), which version counters do not notice: what is recomputed is computed from the
/// new weights.
TEST(SavedVersions, AnOptimizerStepBetweenForwardAndBackward) {
  trained_like_eager([](const Tensor& x, const Tensor& w) { return at::mm(x, w).relu(); },
                     [] {
                       return std::tuple(leaf({3, 4}), leaf({4, 2}));
                     },
                     saving_all([](const Scene& s) {
                       torch::optim::SGD optimizer({s.inputs[1]}, 0.1);
                       backward_through(s.outputs, /*retain_graph=*/true);
                       optimizer.step();
                       backward_of_outputs(s);
                     }));
}

TEST(SavedVersions, SetDataIsNotNoticed) {
  trained_like_eager([](const Tensor& a) { return a.sin(); }, one_leaf,
                     [](const Scene& s) {
                       s.inputs[0].data().add_(1);
                       backward_of_outputs(s);
                     });
}

// --- modified inside

TEST(ModifiedInside, ASavedIntermediateFailsInBackwardOnly) {
  auto function = [](const Tensor& a) {
    auto b = a.sigmoid();
    b.add_(1);
    return b * 2;
  };
  trained_like_eager(function, one_leaf);
  auto out = compile(function)(leaf({3}));
  EXPECT_NE(thrown_by([&] { out.sum().backward(); }).find(kModified), std::string::npos);
}

TEST(ModifiedInside, ASavedInputFailsInBackwardOnly) {
  trained_like_eager(
      [](const Tensor& a, const Tensor& b) {
        auto c = a * b;
        b.add_(1);
        return c;
      },
      [] { return std::tuple(leaf({3}), torch::randn({3})); });
}

TEST(ModifiedInside, ButNotRead) {
  trained_like_eager(
      [](const Tensor& a) {
        auto b = a * 2;
        b.add_(1);
        return b.sin();
      },
      one_leaf);
}

TEST(ModifiedInside, OtherOutputsAreFine) {
  auto function = [](const Tensor& a, const Tensor& b) {
    auto c = a.sigmoid();
    c.add_(1);
    return std::tuple(c, b.sin());
  };
  trained_like_eager(function, two_leaves, [](const Scene& s) { s.outputs[1].sum().backward(); });
  trained_like_eager(function, two_leaves, [](const Scene& s) { s.outputs[0].sum().backward(); });
}

// --- lifetimes

/// Whether the memory is freed once the caller has dropped everything it holds.
template <class F>
void expect_freed(const F& function, bool backward) {
  auto compiled = compile(function);
  auto a = leaf({3});
  c10::weak_intrusive_ptr<c10::TensorImpl> output(c10::make_intrusive<c10::TensorImpl>(
      c10::DispatchKeySet(), caffe2::TypeMeta::Make<float>(), std::nullopt));
  std::weak_ptr<torch::autograd::Node> node;
  {
    auto out = compiled(a);
    output = c10::weak_intrusive_ptr<c10::TensorImpl>(out.getIntrusivePtr());
    node = out.grad_fn();
    if (backward) out.sum().backward();
    EXPECT_FALSE(output.expired());
    EXPECT_FALSE(node.expired());
  }
  EXPECT_TRUE(output.expired());
  EXPECT_TRUE(node.expired());
  EXPECT_EQ(a.use_count(), 1U);
}

TEST(Lifetimes, ASavedOutputDoesNotKeepItself) {
  for (bool backward : {false, true}) {
    expect_freed([](const Tensor& a) { return a.sigmoid(); }, backward);
    expect_freed([](const Tensor& a) { return at::softmax(a, 0); }, backward);
    expect_freed([](const Tensor& a) { return a.exp().view({3, 1}); }, backward);
  }
}

TEST(Lifetimes, InputsAreFreedByBackward) {
  auto compiled = compile([](const Tensor& a, const Tensor& b) { return (a * b).sum(); });
  auto a = leaf({3});
  auto data = torch::randn({3});
  c10::weak_intrusive_ptr<c10::TensorImpl> kept(data.getIntrusivePtr());
  auto out = compiled(a, data);
  data.reset();
  EXPECT_FALSE(kept.expired());
  out.backward();
  EXPECT_TRUE(kept.expired());
}

TEST(Lifetimes, InputsAreKeptByAKeptGraph) {
  auto compiled = compile([](const Tensor& a, const Tensor& b) { return (a * b).sum(); });
  auto data = torch::randn({3});
  c10::weak_intrusive_ptr<c10::TensorImpl> kept(data.getIntrusivePtr());
  auto out = compiled(leaf({3}), data);
  data.reset();
  out.backward({}, /*retain_graph=*/true);
  EXPECT_FALSE(kept.expired());
  out.reset();
  EXPECT_TRUE(kept.expired());
}

TEST(Lifetimes, TheGraphOutlivesTheCompiledFunction) {
  auto a = leaf({3});
  Tensor out;
  {
    auto compiled = compile([](const Tensor& x) { return x.sin().sum(); });
    out = compiled(a);
  }
  out.backward();
  EXPECT_TRUE(same_values(a.detach().cos(), a.grad()));
}

TEST(Lifetimes, ParametersAreNotKeptByTheCompiledFunction) {
  auto w = leaf({3});
  c10::weak_intrusive_ptr<c10::TensorImpl> kept(w.getIntrusivePtr());
  auto weak = std::make_shared<Tensor>(w);
  auto compiled = compile([weak](const Tensor& x) { return (x * *weak).sum(); });
  compiled(leaf({3})).backward();
  w.reset();
  weak->reset();
  EXPECT_TRUE(kept.expired());
}

TEST(Lifetimes, OfInputsWithACreatedGraph) {
  auto compiled = compile([](const Tensor& a) { return (a * a * a).sum(); });
  c10::weak_intrusive_ptr<c10::TensorImpl> kept(torch::empty({1}).getIntrusivePtr());
  {
    auto a = leaf({3});
    kept = c10::weak_intrusive_ptr<c10::TensorImpl>(a.getIntrusivePtr());
    auto first = torch::autograd::grad({compiled(a)}, {a}, {}, true, /*create_graph=*/true)[0];
    auto second = torch::autograd::grad({first.sum()}, {a}, {}, true, /*create_graph=*/true)[0];
    EXPECT_TRUE(second.allclose(6 * a));
  }
  EXPECT_TRUE(kept.expired());
}

// --- copies

TEST(SavedCopies, OfExpandedInputsHaveTheirStrides) {
  const auto f = [](const Tensor& x) {
    const auto y = x.repeat_interleave(2, 0);
    return at::layer_norm(y, {y.size(-1)}, {}, {}, 1e-3);
  };
  Options options;
  options.writable_inputs = true;
  auto compiled = compile(f, options);
  const auto x = torch::randn({3, 1}).expand({3, 14}).set_requires_grad(true);
  const auto tangent = torch::randn({6, 14});
  const auto expected = torch::autograd::grad({f(x)}, {x}, {tangent})[0];
  const auto actual = torch::autograd::grad({compiled(x)}, {x}, {tangent})[0];
  EXPECT_TRUE(at::allclose(expected, actual, 1e-3, 1e-3)) << expected << actual;
}

}  // namespace
}  // namespace antegrad::test
