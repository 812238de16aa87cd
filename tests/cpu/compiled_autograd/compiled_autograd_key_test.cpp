// What distinguishes one backward pass from another: changes one property at a time, and checks whether the
// pass is found again or captured anew. Gradients are eager's in either case.
#include <torch/csrc/autograd/functions/accumulate_grad.h>

#include <cstdlib>
#include <random>

#include "cpu/compiled_autograd/compiled_autograd_fixture.h"
#include "support/counting_allocator.h"
#include "support/seeds.h"

namespace antegrad::test {
namespace {

/// The properties in which two passes of one program may differ.
struct Setting {
  int64_t rows = 3;
  int64_t columns = 4;
  c10::ScalarType dtype = c10::kFloat;
  double factor = 2.0;
  double exponent = 3.0;
  int64_t dim = 1;
  bool keepdim = false;
  bool second_use = false;
  bool swapped = false;
  bool frozen_weight = false;
  bool hook = false;
  bool retains = false;
  bool transposed = false;
  bool had_grad = false;
  bool keeps_graph = false;
  bool asks_for_x = false;
  int64_t slice = 1;
};

Tensors run(const Setting& s) {
  test::manual_seed(3);
  auto x = torch::randn({s.rows, s.columns}, s.dtype);
  if (s.transposed) x = torch::randn({s.columns, s.rows}, s.dtype).t();
  x.set_requires_grad(true);
  const auto w = torch::randn({s.columns}, s.dtype).set_requires_grad(!s.frozen_weight);
  if (s.had_grad) x.mutable_grad() = torch::ones_like(x);
  auto h = (x * w).sin() * s.factor;
  if (s.hook) h.register_hook([](const Tensor& gradient) { return gradient * 2; });
  if (s.retains) h.retain_grad();
  auto y = s.swapped ? h.exp().tanh() : h.tanh().exp();
  y = y.pow(s.exponent).narrow(1, s.slice, s.columns - s.slice);
  if (s.second_use) y = y + h.narrow(1, s.slice, s.columns - s.slice);
  const auto loss = y.sum({s.dim}, s.keepdim).pow(2).mean();
  if (s.asks_for_x)
    loss.backward({}, s.keeps_graph, false, Tensors{x});
  else
    loss.backward({}, s.keeps_graph);
  Tensors out{x.grad(), w.grad()};
  if (s.retains) out.push_back(h.grad());
  return out;
}

class CompiledAutogradKeyTest : public CompiledAutogradTest {
 protected:
  /// Returns the number of captures that the changed program needs once the plain one is known.
  static uint64_t captures_after(const std::function<void(Setting&)>& change) {
    compiled_autograd::reset();
    same_as_eager([] { return run({}); });
    const auto before = stats().captures;
    same_as_eager([&] {
      Setting setting;
      change(setting);
      return run(setting);
    });
    const auto captures = stats().captures - before;
    same_as_eager([] { return run({}); });  // the first one still gives right results
    EXPECT_EQ(stats().captures, before + captures);
    return captures;
  }
};

TEST_F(CompiledAutogradKeyTest, WhatDoesNotMatterIsFound) {
  EXPECT_EQ(captures_after([](Setting&) {}), 0u);
  EXPECT_EQ(captures_after([](Setting& s) { s.factor = 5; }), 0u);
  EXPECT_EQ(captures_after([](Setting& s) { s.had_grad = true; }), 0u);
  EXPECT_EQ(captures_after([](Setting& s) { s.keeps_graph = true; }), 0u);
}

TEST_F(CompiledAutogradKeyTest, WhatMattersIsCapturedAnew) {
  EXPECT_EQ(captures_after([](Setting& s) { s.rows = 5; }), 1u);
  EXPECT_EQ(captures_after([](Setting& s) { s.columns = 6; }), 1u);
  EXPECT_EQ(captures_after([](Setting& s) { s.dtype = c10::kDouble; }), 1u);
  EXPECT_EQ(captures_after([](Setting& s) { s.exponent = 2; }), 1u);
  EXPECT_EQ(captures_after([](Setting& s) { s.dim = 0; }), 1u);
  EXPECT_EQ(captures_after([](Setting& s) { s.keepdim = true; }), 1u);
  EXPECT_EQ(captures_after([](Setting& s) { s.second_use = true; }), 1u);
  EXPECT_EQ(captures_after([](Setting& s) { s.swapped = true; }), 1u);
  EXPECT_EQ(captures_after([](Setting& s) { s.frozen_weight = true; }), 1u);
  EXPECT_EQ(captures_after([](Setting& s) { s.transposed = true; }), 1u);
  EXPECT_EQ(captures_after([](Setting& s) { s.asks_for_x = true; }), 1u);
  EXPECT_EQ(captures_after([](Setting& s) { s.slice = 2; }), 1u);
  EXPECT_EQ(captures_after([](Setting& s) { s.hook = true; }), 2u);  // the hook cuts the graph in two
  EXPECT_EQ(captures_after([](Setting& s) { s.retains = true; }), 1u);
}

TEST_F(CompiledAutogradKeyTest, TwoChangesAtOnce) {
  const std::vector<std::function<void(Setting&)>> changes{
      [](Setting& s) { s.rows = 7; },        [](Setting& s) { s.factor = -1; },
      [](Setting& s) { s.exponent = 4; },    [](Setting& s) { s.second_use = true; },
      [](Setting& s) { s.hook = true; },     [](Setting& s) { s.frozen_weight = true; },
      [](Setting& s) { s.had_grad = true; }, [](Setting& s) { s.transposed = true; }};
  compiled_autograd::reset();
  for (const auto& first : changes)
    for (const auto& second : changes)
      same_as_eager([&] {
        Setting setting;
        first(setting);
        second(setting);
        return run(setting);
      });
}

/// Returns the peak memory of a backward pass in bytes, beyond what was live before it.
int64_t peak_of(const std::function<Tensor()>& loss_of, bool compiled) {
  const auto loss = loss_of();
  auto& allocator = test::CountingAllocator::installed();
  allocator.restart_peak();
  const auto before = allocator.live_bytes();
  const CompiledAutograd guard(compiled);
  loss.backward();
  return allocator.peak_bytes() - before;
}

TEST_F(CompiledAutogradKeyTest, SavedTensorsGoAsThePassGoes) {
  test::CountingAllocator::installed();
  const auto w = torch::ones({1 << 16}).set_requires_grad(true);
  const auto loss_of = [&] {
    w.mutable_grad() = Tensor();
    auto h = w * 1.5;
    for (int i = 0; i < 12; ++i) h = h.sin() + torch::softmax(h.view({256, 256}), 1).view({-1});
    return h.sum();
  };
  peak_of(loss_of, true);  // captures
  const auto compiled = peak_of(loss_of, true);
  EXPECT_LE(static_cast<double>(compiled), 1.05 * static_cast<double>(peak_of(loss_of, false)) + 4096);
}

/// Looks up passes among others that are almost equal.
class CompiledAutogradLookupTest : public CompiledAutogradTest {
 protected:
  void SetUp() override {
    if (const auto* backend = std::getenv("ANTEGRAD_BACKEND")) before_ = backend;
    ::setenv("ANTEGRAD_BACKEND", "eager", 1);  // lookup is tested, not the code that is found
    CompiledAutogradTest::SetUp();
  }
  void TearDown() override {
    compiled_autograd::reset();
    before_.empty() ? ::unsetenv("ANTEGRAD_BACKEND") : ::setenv("ANTEGRAD_BACKEND", before_.c_str(), 1);
  }
  static uint64_t captures_of(const std::function<Tensors()>& program) {
    const auto before = stats().captures;
    same_as_eager(program);
    return stats().captures - before;
  }

 private:
  std::string before_;
};

Tensors long_chain(int cosine_at) {
  const auto x = torch::full({1}, 0.3).set_requires_grad(true);
  auto h = x;
  for (int i = 0; i < 1500; ++i) h = i == cosine_at ? h.cos() : h.sin();
  h.backward();
  return {x.grad()};
}

TEST_F(CompiledAutogradLookupTest, LongPassesThatDifferInOneNode) {
  for (const int cosine_at : {-1, 0, 1, 1498, 1499}) {
    EXPECT_EQ(captures_of([&] { return long_chain(cosine_at); }), 1u) << cosine_at;
    EXPECT_EQ(captures_of([&] { return long_chain(cosine_at); }), 0u) << cosine_at;
  }
}

/// The same ops, connected differently.
Tensors wired(bool one_after_the_other) {
  const auto x = torch::randn({3}).set_requires_grad(true);
  const auto h = x.sin();
  const auto g = (one_after_the_other ? h : x).sin();
  (h * g).sum().backward();
  return {x.grad()};
}

TEST_F(CompiledAutogradLookupTest, TheSameOpsConnectedInAnotherWay) {
  EXPECT_EQ(captures_of([] { return wired(false); }), 1u);
  EXPECT_EQ(captures_of([] { return wired(true); }), 1u);
  EXPECT_EQ(captures_of([] { return wired(false); }), 0u);
}

/// Differ only in the leaf that each gradient goes to.
Tensors crossed(bool cross) {
  const auto x = torch::randn({3}).set_requires_grad(true);
  const auto y = torch::randn({3}).set_requires_grad(true);
  const auto h = x.sin();
  const auto g = y.sin();
  (cross ? g * h.detach() + h : h * g.detach() + g).sum().backward();
  return {x.grad(), y.grad()};
}

TEST_F(CompiledAutogradLookupTest, GradientsGoWhereTheyBelong) {
  for (const bool cross : {false, true, false, true}) captures_of([&] { return crossed(cross); });
}

TEST_F(CompiledAutogradLookupTest, ManySizes) {
  const auto program = [](int64_t more) {
    Tensors leaves;
    auto sum = torch::zeros({});
    for (int64_t i = 0; i < 150; ++i) {
      leaves.push_back(torch::randn({i + 2 + more}).set_requires_grad(true));
      sum = sum + leaves.back().sin().sum();
    }
    sum.backward();
    Tensors out;
    for (const auto& each : leaves) out.push_back(each.grad());
    return out;
  };
  captures_of([&] { return program(0); });
  EXPECT_EQ(captures_of([&] { return program(0); }), 0u);
}

/// A few ops, each on random earlier tensors.
Tensors random_program(uint32_t seed) {
  std::mt19937 random(seed);
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  Tensors leaves, values;
  for (int i = 0; i < 2; ++i) leaves.push_back(torch::randn({2}).set_requires_grad(true));
  values = leaves;
  const auto ops = 2 + below(4);
  for (size_t i = 0; i < ops; ++i) {
    const auto a = values[below(values.size())];
    const auto b = values[below(values.size())];
    const auto op = below(4);
    values.push_back(op == 0 ? a.sin() : op == 1 ? a * b : op == 2 ? a + b : a.tanh());
  }
  const auto loss = (values.back() * values[below(values.size())]).sum();
  if (below(3) == 0) return torch::autograd::grad({loss}, {leaves[0]}, {}, {}, false, true);
  loss.backward();
  return {leaves[0].grad(), leaves[1].grad()};
}

TEST_F(CompiledAutogradLookupTest, RandomProgramsAreNotTakenForEachOther) {
  uint64_t captures = 0;
  for (uint32_t seed = 0; seed < 120; ++seed) captures += captures_of([&] { return random_program(seed); });
  EXPECT_GT(captures, 40u);
  for (uint32_t seed = 0; seed < 120; ++seed)
    EXPECT_EQ(captures_of([&] { return random_program(seed); }), 0u) << seed;
}

}  // namespace
}  // namespace antegrad::test
