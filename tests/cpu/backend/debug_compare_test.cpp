// Options::debug_compare: what it must accept, and what it must detect.
#include <antegrad/antegrad.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "antegrad/error.h"
#include "compiler/code/driver.h"
#include "ir/text.h"
#include "runtime/executable.h"
#include "runtime/plan/placement.h"
#include "support/seeds.h"

namespace antegrad {
namespace {

using at::Tensor;

Options comparing() {
  Options options;
  options.debug_compare = true;
  return options;
}

template <class Function>
void expect_silence(const Function& function, const std::function<std::vector<Tensor>()>& inputs) {
  test::manual_seed(0);
  const auto compiled = compile(function, comparing());
  for (int i = 0; i < 20; ++i) ASSERT_NO_THROW(compiled(inputs()));
}

TEST(DebugCompare, SumsThatCancelAreNoDefects) {
  const auto matrix = [] { return std::vector<Tensor>{torch::randn({16, 17})}; };
  using Inputs = const std::vector<Tensor>&;
  expect_silence([](Inputs x) { return 1 - torch::softmax(x[0], 1).sum(1); }, matrix);
  expect_silence([](Inputs x) { return x[0] - x[0].exp().log(); }, matrix);
  expect_silence([](Inputs x) { return x[0].sin().square() + x[0].cos().square() - 1; }, matrix);
  expect_silence([](Inputs x) { return (x[0] - x[0].mean(1, true)).sum(1); }, matrix);
  expect_silence([](Inputs x) { return (x[0] * 1000).sin(); }, matrix);
  expect_silence([](Inputs x) { return (x[0].exp() > x[0].exp().mean(1, true)).to(at::kFloat); }, matrix);
  expect_silence([](Inputs x) { return (x[0].exp() * 100).floor(); }, matrix);
  expect_silence([](Inputs x) { return at::lgamma(x[0] + 2); }, matrix);
  expect_silence([](Inputs x) { return (x[0].exp() * 1e38).log() + (x[0] * 60).exp(); }, matrix);
}

TEST(DebugCompare, HalfTypesRoundOnTheWay) {
  for (const auto type : {at::kBFloat16, at::kHalf, at::kDouble}) {
    const auto inputs = [&] { return std::vector<Tensor>{torch::randn({16, 17}).to(type)}; };
    expect_silence([](const std::vector<Tensor>& x) { return torch::softmax(x[0] * 3, 1) - 0.05; }, inputs);
    expect_silence([](const std::vector<Tensor>& x) { return (x[0].tanh() * x[0].exp()).sum(1); }, inputs);
    expect_silence([](const std::vector<Tensor>& x) { return torch::layer_norm(x[0], {17}); }, inputs);
  }
}

// The key bias of an attention layer has a gradient of zero: all that is computed of it is rounding.
TEST(DebugCompare, AGradientOfZeroIsNoDefect) {
  test::manual_seed(0);
  torch::nn::Linear q(16, 16), k(16, 16), v(16, 16);
  const auto attention = compile(
      [&](const Tensor& x) {
        const auto weights = torch::softmax(torch::matmul(q(x), k(x).transpose(1, 2)), -1);
        return torch::matmul(weights, v(x)).pow(2).sum();
      },
      comparing());
  for (int i = 0; i < 5; ++i) ASSERT_NO_THROW(attention(torch::randn({4, 10, 16})).backward());
}

// --- kernels with defects

struct Defect {
  runtime::KernelFunction right = nullptr;
  size_t output = 0;
  std::function<void(void*)> spoil;
} defect;

int64_t run_with_defect(void* const* buffers, const int64_t* dims, int64_t begin, int64_t end) {
  const auto code = defect.right(buffers, dims, begin, end);
  defect.spoil(buffers[defect.output]);
  return code;
}

std::shared_ptr<const compiler::Lowered> lowered(const std::string& text) {
  return compiler::lower(compiler::Lowering(Options()), ir::parse(text));
}

std::vector<runtime::KernelCode> code_of(const compiler::Lowered& lowered) {
  std::vector<runtime::KernelCode> code;
  for (const auto& kernel : lowered.kernels()) code.push_back(kernel.code);
  return code;
}

std::string failure_of(const runtime::Executable& executable, const std::vector<Tensor>& inputs) {
  std::vector<Tensor> outputs;
  try {
    executable.run(inputs, outputs);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Internal);
    return error.what();
  }
  return "";
}

/// Makes the last kernel of the graph corrupt its output. Returns the error, or "" when nothing is detected.
std::string found_in(const std::string& text, const Tensor& input, std::function<void(void*)> spoil) {
  const auto whole = lowered(text);
  auto code = code_of(*whole);
  const auto& kernel = whole->program().kernels.back();
  const auto passed = runtime::passed_buffers(kernel);
  for (size_t b = 0; b < passed.size(); ++b)
    if (kernel.buffers[static_cast<size_t>(passed[b])].kind == schedule::Buffer::Kind::Output)
      defect.output = b;
  defect.right = code.back().function;
  defect.spoil = std::move(spoil);
  code.back().function = run_with_defect;
  return failure_of(runtime::Executable(whole->program(), code, {}, true), {input});
}

template <class T>
std::function<void(void*)> add(double amount) {
  return [amount](void* memory) {
    auto* number = static_cast<T*>(memory) + 3;
    *number = static_cast<T>(static_cast<double>(*number) + amount);
  };
}

constexpr const char* kSoftmax = R"(graph @f functional {
  in %0: f32[8,8] user
  %1: f32[8,8] = aten.exp(%0)
  %2: f32[8,1] = aten.sum.dim_IntList(%1, [1], true)
  %3: f32[8,8] = aten.div.Tensor(%1, %2)
  %4: f32[8] = aten.sum.dim_IntList(%3, [1])
  %5: f32[8] = aten.sub.Scalar(%4, 1.0)
  out %5 user
})";

TEST(DebugCompare, FindsAKernelThatIsWrong) {
  const auto input = torch::rand({8, 8});
  EXPECT_EQ(found_in(kSoftmax, input, add<float>(0)), "");
  const auto found = found_in(kSoftmax, input, add<float>(1e-3));
  EXPECT_TRUE(found.starts_with("[compare:k")) << found;
  EXPECT_NE(found.find("output 0, element 3: the kernel gives "), std::string::npos) << found;
  EXPECT_NE(found.find("Use Backend::NoFuse or Backend::Eager, and report it"), std::string::npos) << found;
  const std::string sine =
      "graph @f functional { in %0: f32[8,8] user %1: f32[8,8] = aten.sin(%0) out %1 user }";
  EXPECT_EQ(found_in(sine, input, add<float>(1e-8)), "");
  EXPECT_NE(found_in(sine, input, add<float>(1e-5)), "");
  EXPECT_NE(found_in(sine, input, add<float>(std::nan(""))), "");
}

TEST(DebugCompare, FindsWrongIntegersBooleansAndHalves) {
  const auto input = torch::rand({8, 8});
  const std::string integers =
      "graph @f functional { in %0: i64[8,8] user %1: i64[8,8] = aten.mul.Tensor(%0, %0) out %1 user }";
  EXPECT_EQ(found_in(integers, (input * 100).to(at::kLong), add<int64_t>(0)), "");
  EXPECT_NE(found_in(integers, (input * 100).to(at::kLong), add<int64_t>(1)), "");
  const std::string comparison =
      "graph @f functional { in %0: f32[8,8] user %1: bool[8,8] = aten.gt.Scalar(%0, 0.5) out %1 user }";
  EXPECT_NE(found_in(comparison, input, [](void* b) { static_cast<bool*>(b)[3] ^= true; }), "");
  const std::string half =
      "graph @f functional { in %0: bf16[8,8] user %1: bf16[8,8] = aten.exp(%0) out %1 user }";
  EXPECT_EQ(found_in(half, input.to(at::kBFloat16), add<at::BFloat16>(0)), "");
  EXPECT_NE(found_in(half, input.to(at::kBFloat16), add<at::BFloat16>(0.1)), "");
}

// --- memory that is released too early

constexpr const char* kTwoViews = R"(graph @f functional {
  in %0: f32[8,8] user
  %1: f32[8,8] = aten.sin(%0)
  %2: f32[8,8]{1,8} &%1 = aten.t(%1)
  %3: f32[8,8]{1,8} &%1 = aten.transpose.int(%1, 0, 1)
  %4: f32[8,8] = aten.mm(%2, %0)
  %5: f32[8,8] = aten.cos(%4)
  %6: f32[8,8] = aten.mm(%3, %5)
  %7: f32[8,8] = aten.exp(%6)
  out %7 user
})";

TEST(DebugCompare, FindsMemoryThatIsGivenAwayTooEarly) {
  const auto whole = lowered(kTwoViews);
  const auto input = torch::rand({8, 8});
  auto program = whole->program();
  EXPECT_EQ(failure_of(runtime::Executable(program, code_of(*whole), {}, true), {input}), "");
  // Simulates a pass that drops the common base: the first view has none, and the second is a view of the
  // first.
  program.graph.values[{2}].base = {};
  program.graph.values[{3}].base = {2};
  const auto found = failure_of(runtime::Executable(program, code_of(*whole), {}, true), {input});
  EXPECT_TRUE(found.starts_with("[compare:memory] value %3, element ")) << found;
  EXPECT_NE(found.find("its memory was reused too early"), std::string::npos) << found;
  EXPECT_NE(found.find("Use Backend::Eager, and report it"), std::string::npos) << found;
}

// The memory plan is the one that runs without the option.
TEST(DebugCompare, KeepsTheMemoryPlan) {
  const auto whole = lowered(kTwoViews);
  const runtime::Executable plain(whole->program(), code_of(*whole), {}, false);
  const runtime::Executable compared(whole->program(), code_of(*whole), {}, true);
  EXPECT_GT(plain.arena_bytes(), 0);
  EXPECT_EQ(plain.arena_bytes(), compared.arena_bytes());
}

}  // namespace
}  // namespace antegrad
