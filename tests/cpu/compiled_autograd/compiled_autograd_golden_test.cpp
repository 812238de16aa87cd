// Golden tests of backward passes with hooks: the calls around the graphs with the gradients that exist then,
// which must be eager's, and the newest graph. ANTEGRAD_UPDATE_GOLDEN=1 rewrites
// tests/data/compiled_autograd.
#include <torch/csrc/autograd/functions/accumulate_grad.h>
#include <torch/csrc/autograd/generated/Functions.h>
#include <torch/csrc/autograd/saved_variable_hooks.h>

#include "cpu/compiled_autograd/compiled_autograd_fixture.h"
#include "graph/golden.h"

namespace antegrad::test {
namespace {

/// The events of a pass, one line each.
class Events {
 public:
  /// Adds a tensor whose gradient is reported with each event.
  void watch(const char* name, const Tensor& tensor) { watched_.emplace_back(name, tensor); }
  void note(const std::string& what) {
    text_ += what + "; gradients of:";
    for (const auto& [name, tensor] : watched_)
      if (tensor.grad().defined()) text_ += std::string(" ") + name;
    text_ += "\n";
  }
  const std::string& text() const { return text_; }

 private:
  std::vector<std::pair<const char*, Tensor>> watched_;
  std::string text_;
};

struct AfterAccumulation : torch::autograd::PostAccumulateGradHook {
  explicit AfterAccumulation(std::function<void()> what) : call(std::move(what)) {}
  void operator()(const Tensor&) override { call(); }
  std::function<void()> call;
};

struct Unpacking : torch::autograd::SavedVariableHooks {
  explicit Unpacking(std::function<void()> what) : call(std::move(what)) {}
  void call_pack_hook(const Tensor& tensor) override { packed = tensor.detach(); }
  Tensor call_unpack_hook() override {
    call();
    return packed;
  }
  std::function<void()> call;
  Tensor packed;
};

/// Registers hooks on a leaf that report themselves.
void watch_leaf(Events& events, const char* name, const Tensor& leaf) {
  events.watch(name, leaf);
  leaf.register_hook([&events, name](const Tensor&) { events.note(std::string("hook of ") + name); });
  torch::autograd::impl::set_post_acc_grad_hooks(leaf, std::make_unique<AfterAccumulation>([&events, name] {
                                                   events.note(std::string("accumulated into ") + name);
                                                 }));
}

class CompiledAutogradGoldenTest : public CompiledAutogradTest {
 protected:
  static void check(const std::string& name, const std::function<void(Events&)>& pass) {
    Events eager, compiled;
    pass(eager);
    {
      const CompiledAutograd on;
      pass(compiled);
    }
    EXPECT_EQ(compiled.text(), eager.text());
    const auto actual = compiled.text() + compiled_autograd::graph();
    const auto path = std::string(ANTEGRAD_SOURCE_DIR) + "/tests/data/compiled_autograd/" + name + ".txt";
    if (updating_golden()) {
      std::ofstream(path) << actual;
      return;
    }
    EXPECT_EQ(actual, read_text(path)) << path;
  }
};

// CAU-22, CAU-24
TEST_F(CompiledAutogradGoldenTest, HooksOfTensorsNodesAndLeaves) {
  const auto part = compile([](const Tensor& x) { return (x.sin() * x).cos(); });
  check("hooks", [&](Events& events) {
    const auto x = leaf({4}), w = leaf({4}), v = leaf({4});
    watch_leaf(events, "x", x);
    watch_leaf(events, "v", v);
    w.register_hook(traceable([](const Tensor& gradient) { return gradient.relu(); }));
    const auto h = part(x * 2);
    h.register_hook(traceable([](const Tensor& gradient) { return gradient.clamp(-1, 1); }));
    const auto k = (h * w).tanh();
    k.register_hook(traceable([](const Tensor& gradient) { return gradient + 1; }));
    k.retain_grad();
    events.watch("k", k);
    k.grad_fn()->add_pre_hook(traceable_pre_hook([](const Tensors& in) { return Tensors{in[0].neg()}; }));
    k.grad_fn()->add_post_hook(
        traceable_post_hook([](const Tensors& out, const Tensors& in) { return Tensors{out[0] + in[0]}; }));
    (k * v).sum().backward();
    for (const auto& leaf : {x, v}) torch::autograd::impl::set_post_acc_grad_hooks(leaf, nullptr);
  });
  EXPECT_EQ(stats().captures, 1u);
}

TEST_F(CompiledAutogradGoldenTest, WhatIsNotUsedGoesUnlessItWrites) {
  const auto sum = torch::zeros({4});
  const auto hook = traceable([sum](const Tensor& gradient) {
    gradient.sin();  // its result is unused
    sum.add_(gradient.exp());
  });
  check("effects", [&](Events&) {
    const auto x = leaf({4});
    const auto h = x.cos();
    h.register_hook(hook);
    h.tanh().sum().backward();
  });
}

TEST_F(CompiledAutogradGoldenTest, SavedTensorsAreUnpackedInTheirTurn) {
  check("cut", [&](Events& events) {
    const auto x = leaf({4}), y = leaf({4});
    watch_leaf(events, "x", x);
    watch_leaf(events, "y", y);
    const auto h = x.exp().sin();
    static_cast<torch::autograd::generated::SinBackward0&>(*h.grad_fn())
        .self_.register_hooks(std::make_unique<Unpacking>([&events] { events.note("unpacked for sin"); }));
    const auto k = h.cos();
    static_cast<torch::autograd::generated::CosBackward0&>(*k.grad_fn())
        .self_.register_hooks(std::make_unique<Unpacking>([&events] { events.note("unpacked for cos"); }));
    k.register_hook([&events](const Tensor&) { events.note("hook of k"); });
    (k.tanh() * y).sum().backward();
    for (const auto& leaf : {x, y}) torch::autograd::impl::set_post_acc_grad_hooks(leaf, nullptr);
  });
  EXPECT_EQ(stats().cut_reasons,
            (std::vector<std::string>{"CosBackward0: it has a hook that is not marked traceable"}));
}

}  // namespace
}  // namespace antegrad::test
