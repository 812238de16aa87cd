// Captures that are compared with an expected forward pass while they go on, instead of being recorded.
#include "capture/expected.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "capture/backward.h"
#include "capture/capture.h"
#include "capture/sure_shapes.h"
#include "compiler/code/captured.h"
#include "ir/text.h"
#include "support/seeds.h"

namespace antegrad::test {
namespace {

using at::Tensor;
using Program = std::function<Tensor(const Tensor&)>;

capture::Trace record(const Program& program, const Tensor& x,
                      std::shared_ptr<capture::Follower> follower = nullptr) {
  capture::CaptureOptions options;
  options.histories = true;
  options.follower = std::move(follower);
  return capture::capture(
      [&](const std::vector<Tensor>& fakes) { return std::vector<Tensor>{program(fakes[0])}; }, {x}, options);
}

std::shared_ptr<capture::Follower> follower_of(const Program& program, const Tensor& x) {
  auto expected = std::make_shared<const capture::Expected>(compiler::forward_of(record(program, x)));
  EXPECT_TRUE(expected->is_usable());
  return std::make_shared<capture::Follower>(std::move(expected), std::vector<int64_t>());
}

/// Whether `program` does what `before` did. If not, the capture must be that of a recorder that expects
/// nothing.
bool does_what(const Program& before, const Program& program, const Tensor& x) {
  const auto followed = record(program, x, follower_of(before, x));
  const auto plain = record(program, x);
  EXPECT_TRUE(followed.histories == plain.histories);
  EXPECT_TRUE(followed.inputs == plain.inputs);
  EXPECT_TRUE(followed.output_ends == plain.output_ends);
  const auto fingerprint = [](const ir::Graph& graph) {
    return capture::fingerprint(graph, graph.nodes.size());
  };
  EXPECT_EQ(fingerprint(followed.forward()), fingerprint(plain.forward()));
  if (!followed.as_expected) EXPECT_EQ(ir::print(followed.graph), ir::print(plain.graph));
  return followed.as_expected;
}

class Expectations : public ::testing::Test {
 protected:
  Expectations() {
    manual_seed(3);
    x = torch::randn({6, 4}).requires_grad_();
    weight = torch::randn({4, 5}).requires_grad_();
  }
  Tensor x, weight;
};

TEST_F(Expectations, AreMetByTheSameProgram) {
  const std::vector<Program> programs = {
      [&](const Tensor& t) { return (t.matmul(weight) * 2).tanh().sum(); },
      [&](const Tensor& t) {
        return torch::dropout(t.mm(weight), 0.5, true).view({-1, 3}).exp();
      },
      [&](const Tensor& t) {
        auto sum = torch::zeros({6, 5});
        sum.add_(t.matmul(weight)).mul_(3);
        return sum.slice(0, 1, 4).t();
      },
      [&](const Tensor& t) {
        const auto parts = t.split(2, 1);
        return torch::cat({parts[1], parts[0].detach(), t.select(1, 1).unsqueeze(1)}, 1).softmax(1);
      },
      [&](const Tensor& t) {
        Tensor scale;
        {
          const torch::NoGradGuard guard;
          scale = t.abs().amax({1}, true);
        }
        return (t / scale).masked_fill(t < 0, 2.5).to(at::kDouble);
      },
      [&](const Tensor& t) {
        return t.index({torch::indexing::Slice(), 1}) + torch::scalar_tensor(3);
      },
      [&](const Tensor& t) { return t; },
  };
  for (size_t i = 0; i < programs.size(); ++i) EXPECT_TRUE(does_what(programs[i], programs[i], x)) << i;
}

TEST_F(Expectations, AreNotMetByOtherOpsNumbersTensorsAndModes) {
  const auto other = torch::randn({4, 5}).requires_grad_();
  const Program program = [&](const Tensor& t) {
    const auto y = (t.mm(weight) * 2).tanh();
    return y.view({5, 6}) + y.sum({1}).view({1, 6});
  };
  const std::vector<Program> programs = {
      [&](const Tensor& t) {  // another op
        const auto y = (t.mm(weight) * 2).sin();
        return y.view({5, 6}) + y.sum({1}).view({1, 6});
      },
      [&](const Tensor& t) {  // another number
        const auto y = (t.mm(weight) * 3).tanh();
        return y.view({5, 6}) + y.sum({1}).view({1, 6});
      },
      [&](const Tensor& t) {  // another list of numbers
        const auto y = (t.mm(weight) * 2).tanh();
        return y.view({6, 5}) + y.sum({1}).view({6, 1});
      },
      [&](const Tensor& t) {  // another order of arguments
        const auto y = (t.mm(weight) * 2).tanh();
        return y.sum({1}).view({1, 6}) + y.view({5, 6});
      },
      [&](const Tensor& t) {  // an op more
        const auto y = (t.mm(weight) * 2).tanh();
        return (y.view({5, 6}) + y.sum({1}).view({1, 6})).exp();
      },
      [&](const Tensor& t) { return (t.mm(weight) * 2).tanh(); },  // fewer ops
      [&](const Tensor& t) {                                       // without a history
        const torch::NoGradGuard guard;
        const auto y = (t.mm(weight) * 2).tanh();
        return y.view({5, 6}) + y.sum({1}).view({1, 6});
      },
      [&](const Tensor& t) {  // an argument in another position
        const auto y = (t.mm(weight) * 2).tanh();
        y.mul_(2);
        return y.view({5, 6}) + y.sum({1}).view({1, 6});
      },
  };
  for (size_t i = 0; i < programs.size(); ++i) EXPECT_FALSE(does_what(program, programs[i], x)) << i;
  const auto larger = torch::randn({6, 4}, at::kDouble).requires_grad_();
  const Program convert = [&](const Tensor& t) { return t.to(at::kFloat).mm(weight).sum(); };
  const auto followed = record(convert, larger, follower_of(convert, x));
  EXPECT_FALSE(followed.as_expected);
}

TEST_F(Expectations, AreNotMetByAnotherCapturedTensor) {
  const auto other = torch::randn({4, 3}).requires_grad_();
  EXPECT_FALSE(does_what([&](const Tensor& t) { return t.mm(weight).sum(); },
                         [&](const Tensor& t) { return t.mm(other).sum(); }, x));
}

TEST_F(Expectations, LeaveWhatIsDoneLaterToTheRecorder) {
  // Ops after the first that is not as expected work on fakes that were made without being recorded.
  const Program program = [&](const Tensor& t) {
    const auto y = t.mm(weight).t();
    return y.view({-1}).sum();
  };
  const Program writes = [&](const Tensor& t) {
    auto y = t.mm(weight).t();
    auto rows = y.slice(0, 1, 3);
    rows.mul_(2).add_(y.slice(0, 2, 4));
    y.unsqueeze_(0);
    return y.reshape({-1}).cumsum(0);
  };
  const Program same_start = [&](const Tensor& t) { return t.mm(weight).t().contiguous().sum(); };
  EXPECT_FALSE(does_what(same_start, writes, x));
  EXPECT_FALSE(does_what(writes, same_start, x));
  EXPECT_TRUE(does_what(writes, writes, x));
}

/// Returns whether the shapes of the only node of a program over symbols are sure. `node`: without its
/// result.
bool is_sure(const std::vector<std::string>& inputs, const std::string& type, const std::string& node) {
  std::string text = "graph @f traced [s0: 2.., s1: 2..] {\n";
  for (size_t i = 0; i < inputs.size(); ++i) text += fmt::format("  in %{}: {} user\n", i, inputs[i]);
  text += fmt::format("  %{0}: {1} = {2}\n  out %{0} user\n}}\n", inputs.size(), type, node);
  const auto graph = ir::parse(text);
  return capture::has_sure_shapes(graph, graph.nodes.front());
}

TEST(SureShapes, AreThoseThatHoldForAllSizes) {
  const std::vector<std::string> one = {"f32[s0,4]"};
  EXPECT_TRUE(is_sure(one, "f32[s0,4]", "aten.sin(%0)"));
  EXPECT_TRUE(is_sure(one, "f32[4,s0]{1,4} &%0", "aten.t(%0)"));
  EXPECT_TRUE(is_sure(one, "f32[4*s0] &%0", "aten.view(%0, [-1])"));
  EXPECT_TRUE(is_sure(one, "f32[s0,1]", "aten.sum.dim_IntList(%0, [1], true)"));
  EXPECT_FALSE(is_sure(one, "f32[floor_div(s0,2),8] &%0", "aten.view(%0, [floor_div(s0,2), 8])"));
  EXPECT_FALSE(is_sure(one, "f32[3,4] &%0", "aten.slice.Tensor(%0, 0, 0, 3)"));
  EXPECT_FALSE(is_sure(one, "f32[s0]", "aten.sum.dim_IntList(%0, [0])"));
  const std::vector<std::string> two = {"f32[s0,4]", "f32[s1,4]"};
  EXPECT_FALSE(is_sure(two, "f32[s0,4]", "aten.add.Tensor(%0, %1)"));
  EXPECT_TRUE(is_sure(two, "f32[s0+s1,4]", "aten.cat([%0, %1])"));
  EXPECT_FALSE(is_sure(two, "f32[2*s0,4]", "aten.cat([%0, %1])"));
  const std::vector<std::string> products = {"f32[s0,s1]", "f32[2*floor_div(s1,2),5]", "f32[s1,5]"};
  EXPECT_TRUE(is_sure(products, "f32[s0,5]", "aten.mm(%0, %2)"));
  EXPECT_FALSE(is_sure(products, "f32[s0,5]", "aten.mm(%0, %1)"));
  const std::vector<std::string> rows = {"f32[s0,4]", "i64[s1]", "f32[s1,4]"};
  EXPECT_TRUE(is_sure(rows, "f32[s1,4]", "aten.index_select(%0, 0, %1)"));
  EXPECT_TRUE(is_sure(rows, "f32[s0,4]", "aten.index_add(%0, 0, %1, %2)"));
  EXPECT_FALSE(is_sure(rows, "f32[s0,4]", "aten.index_add(%0, 1, %1, %2)"));
}

}  // namespace
}  // namespace antegrad::test
