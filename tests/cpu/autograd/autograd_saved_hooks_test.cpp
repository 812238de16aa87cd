// User hooks on everything saved for backward passes. LibTorch asks its engine for them: Python's engine
// takes them from torch.autograd.graph.saved_tensors_hooks, the one of this program from `current`. Both are
// off during tracing.
#include <ATen/SavedTensorHooks.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/saved_variable_hooks.h>

#include "support/training_like_eager.h"

namespace antegrad::test {
namespace {

using at::Tensor;
using Map = std::function<Tensor(const Tensor&)>;

struct PackAndUnpack {
  Map pack, unpack;
};
const PackAndUnpack* current = nullptr;

class Hooks : public torch::autograd::SavedVariableHooks {
 public:
  explicit Hooks(PackAndUnpack maps) : maps_(std::move(maps)) {}
  void call_pack_hook(const Tensor& tensor) override {
    at::NoGradGuard no_grad;
    packed_ = maps_.pack(tensor.detach());
  }
  Tensor call_unpack_hook() override {
    at::NoGradGuard no_grad;
    return maps_.unpack(packed_);
  }

 private:
  PackAndUnpack maps_;
  Tensor packed_;
};

struct HookingEngine : torch::autograd::Engine {
  ~HookingEngine() override { stop(); }
  std::unique_ptr<torch::autograd::SavedVariableHooks> get_default_saved_variable_hooks() override {
    if (current == nullptr || at::SavedTensorDefaultHooks::get_tls_state().is_tracing) return nullptr;
    return std::make_unique<Hooks>(*current);
  }
};
torch::autograd::Engine& hooking_engine() {
  static HookingEngine engine;
  return engine;
}

class SavedTensorHooks : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { torch::autograd::set_default_engine_stub(hooking_engine); }
  void TearDown() override { current = nullptr; }
};

auto product() {
  return [](const Tensor& a, const Tensor& b) { return (a * b).sum(); };
}

TEST_F(SavedTensorHooks, AreCalledAndCauseNoRecapture) {  // PAR-20
  int packed = 0;
  int unpacked = 0;
  PackAndUnpack count{[&](const Tensor& t) {
                        ++packed;
                        return t;
                      },
                      [&](const Tensor& t) {
                        ++unpacked;
                        return t;
                      }};
  auto compiled = compile(product());
  auto a = leaf({3});
  auto b = leaf({3});
  compiled(a, b).backward();
  EXPECT_EQ(packed, 0);
  current = &count;
  auto out = compiled(a, b);
  current = nullptr;
  EXPECT_GE(packed, 2);
  EXPECT_EQ(unpacked, 0);
  out.backward();
  EXPECT_GE(unpacked, 2);
  EXPECT_EQ(compiled.report().captures, 1U);
  EXPECT_TRUE(a.grad().allclose(2 * b.detach()));
}

TEST_F(SavedTensorHooks, ChangeGradientsAsTheyDoInEager) {  // PAR-20
  PackAndUnpack rounded{[](const Tensor& t) { return t.to(at::kBFloat16); },
                        [](const Tensor& t) { return t.to(at::kFloat); }};
  current = &rounded;
  trained_like_eager(product(), two_leaves);
  PackAndUnpack doubled{[](const Tensor& t) { return t * 2; }, [](const Tensor& t) { return t; }};
  current = &doubled;
  trained_like_eager(product(), two_leaves);
}

/// Tensors are saved after the graph has run, and before inputs are written.
TEST_F(SavedTensorHooks, ThatThrowLeaveInputsUnchanged) {
  const auto weight = leaf({70});
  const auto compiled = compile([=](const Tensor& average, const Tensor& x) {
    const auto y = (x * weight).sin();
    average.mul_(0.5).add_(y.detach());
    return y.pow(2).sum();
  });
  const auto average = torch::randn({70}), x = torch::randn({70});
  compiled(average, x);
  const auto before = average.clone();
  const auto version = average._version();
  PackAndUnpack refuse{[](const Tensor&) -> Tensor { throw std::runtime_error("a hook of a test"); },
                       [](const Tensor& t) { return t; }};
  current = &refuse;
  EXPECT_THROW(compiled(average, x), std::runtime_error);
  current = nullptr;
  EXPECT_TRUE(average.equal(before));
  EXPECT_EQ(average._version(), version);
  compiled(average, x);
  EXPECT_TRUE(average.allclose(before * 0.5 + (x * weight).sin().detach(), 1e-5, 1e-6));
}

TEST_F(SavedTensorHooks, DoNotRunInCaptures) {
  int packed = 0;
  PackAndUnpack count{[&](const Tensor& t) {
                        EXPECT_FALSE(detail::capturing());
                        ++packed;
                        return t;
                      },
                      [](const Tensor& t) { return t; }};
  current = &count;
  auto compiled = compile(product());
  auto a = leaf({3});
  auto b = leaf({3});
  auto first = compiled(a, b);
  const int in_first_call = packed;
  auto second = compiled(a, b);
  EXPECT_EQ(packed, 2 * in_first_call);
}

}  // namespace
}  // namespace antegrad::test
