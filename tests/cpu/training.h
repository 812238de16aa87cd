#pragma once
// Trains one program twice from equal weights on equal data, eagerly and compiled, and holds that nothing
// tells the two apart: losses after every step, gradients, parameters, buffers, the random generator.
#include <ATen/autocast_mode.h>
#include <antegrad/antegrad.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cpu/same_as_eager.h"
#include "seeds.h"

namespace antegrad::test {

using Losses = std::vector<at::Tensor>;

enum class Way { Eager, Compiled };

/// What a training program derives from. It names its nets and functions here, and defines
///   Losses step();
/// one step on data that it draws itself; gives what is compared at once, the losses.
class TrainingProgram {
 public:
  /// Programs have numbers of their own: how often a function may be captured, and how far two ways to train
  /// may be apart, relative to the largest value of a tensor. Where the captured graphs run eager's kernels
  /// in eager's order, every bit is the same.
  static constexpr uint64_t kCaptures = 1;
  static constexpr double kTolerance = 0;

  explicit TrainingProgram(Way way, Options options = {}) : way_(way), options_(std::move(options)) {}
  TrainingProgram(const TrainingProgram&) = delete;
  TrainingProgram& operator=(const TrainingProgram&) = delete;

  std::vector<at::Tensor> parameters() const { return collect(&torch::nn::Module::parameters); }
  std::vector<at::Tensor> buffers() const { return collect(&torch::nn::Module::buffers); }
  std::vector<at::Tensor> gradients() const {
    std::vector<at::Tensor> out;
    for (const auto& parameter : parameters()) out.push_back(parameter.grad());
    return out;
  }
  std::vector<Report> reports() const {
    std::vector<Report> out;
    for (const auto& report : reports_) out.push_back(report());
    return out;
  }

 protected:
  /// To be trained: compared, and watched by functions compiled from now on.
  template <class Holder>
  Holder net(Holder holder) {
    nets_.push_back(holder.ptr());
    return holder;
  }

  /// The callable itself, or compiled.
  template <class... Args, class F>
  std::function<at::Tensor(Args...)> function(F callable) {
    if (way_ == Way::Eager) return callable;
    auto options = options_;
    options.watch = nets_;
    return reported(compile(callable, options));
  }
  /// A module's forward(), the module itself given to compile().
  template <class... Args, class Holder>
  std::function<at::Tensor(Args...)> forward(Holder module) {
    if (way_ == Way::Eager) return [module](const Args&... args) mutable { return module->forward(args...); };
    return reported(compile(module, options_));
  }

 private:
  template <class Compiled>
  Compiled reported(Compiled compiled) {
    reports_.push_back([compiled] { return compiled.report(); });
    return compiled;
  }

  std::vector<at::Tensor> collect(std::vector<at::Tensor> (torch::nn::Module::*get)(bool) const) const {
    std::vector<at::Tensor> out;
    for (const auto& net : nets_)
      for (const auto& tensor : (*net.*get)(/*recurse=*/true)) out.push_back(tensor);
    return out;
  }

  Way way_;
  Options options_;
  std::vector<std::shared_ptr<torch::nn::Module>> nets_;
  std::vector<std::function<Report()>> reports_;
};

/// A program that draws random numbers within its functions can only be compared with eager so.
inline Options eager_random_numbers() {
  Options options;
  options.rng = Rng::Eager;
  return options;
}

/// What most programs do with their loss.
inline Losses minimise(torch::optim::Optimizer& optimizer, const at::Tensor& loss) {
  optimizer.zero_grad();
  loss.backward();
  optimizer.step();
  return {loss.detach()};
}

/// What a step draws follows from the step's number alone.
template <class Program>
Losses seeded_step(Program& program, int number) {
  test::manual_seed(1000 + number);
  return program.step();
}

template <class Program>
std::unique_ptr<Program> seeded_program(Way way, const Options& options = {}) {
  test::manual_seed(0);
  return std::make_unique<Program>(way, options);
}

/// Equal bits, or with a tolerance: equal but for how sums were rounded.
inline ::testing::AssertionResult same_within(double tolerance, const std::vector<at::Tensor>& expected,
                                              const std::vector<at::Tensor>& actual) {
  const auto size_of = [](const at::Tensor& tensor) { return tensor.detach().abs().max().item<double>(); };
  double largest = 0;  // other roundings show in gradients that are zero but for these
  if (!runs_libtorch_kernels()) {
    tolerance = 1e-2;
    for (const auto& tensor : expected) largest = std::max(largest, size_of(tensor));
  }
  if (tolerance == 0) return same(expected, actual);
  if (expected.size() != actual.size())
    return ::testing::AssertionFailure() << expected.size() << " and " << actual.size() << " tensors";
  for (size_t i = 0; i < expected.size(); ++i) {
    const auto scale = std::max(largest, size_of(expected[i]));
    const auto apart = (expected[i] - actual[i]).detach().abs().max().item<double>();
    if (!(apart <= tolerance * scale))
      return ::testing::AssertionFailure()
             << "tensor " << i << " of up to " << scale << " is off by " << apart;
  }
  return ::testing::AssertionSuccess();
}

/// Trains one program in two ways, step by step.
template <class Program>
void expect_equal_steps(Program& expected, Program& actual, int steps = 20) {
  constexpr double kTolerance = Program::kTolerance;
  const auto before = copies(actual.parameters());
  if (!runs_libtorch_kernels()) steps = 3;  // training amplifies roundings
  for (int step = 0; step < steps; ++step) {
    SCOPED_TRACE("step " + std::to_string(step));
    const auto expected_losses = seeded_step(expected, step);
    const auto generator = at::detail::getDefaultCPUGenerator().get_state();
    const auto losses = seeded_step(actual, step);
    ASSERT_TRUE(same_within(kTolerance, expected_losses, losses));
    ASSERT_TRUE(generator.equal(at::detail::getDefaultCPUGenerator().get_state()));
    ASSERT_TRUE(same_within(kTolerance, expected.gradients(), actual.gradients()));
  }
  // Adam makes steps of one size of gradients that are nothing but roundings.
  if (runs_libtorch_kernels())
    EXPECT_TRUE(same_within(kTolerance, expected.parameters(), actual.parameters()));
  EXPECT_TRUE(same_within(0, expected.buffers(), actual.buffers()));
  const auto after = actual.parameters();
  for (size_t i = 0; i < after.size(); ++i)
    EXPECT_FALSE(after[i].equal(before[i])) << "parameter " << i << " was not trained";
  for (const auto& report : actual.reports())
    EXPECT_LE(report.captures, Program::kCaptures) << ::testing::PrintToString(report.recapture_reasons);
}

template <class Program>
void expect_equal_training(const Options& options = {}) {
  at::set_num_threads(1);  // one order of summation
  auto eager = seeded_program<Program>(Way::Eager);
  auto compiled = seeded_program<Program>(Way::Compiled, options);
  expect_equal_steps(*eager, *compiled);
}

/// Forward passes under it run in bfloat16 where autocast allows.
class Bfloat16 {
 public:
  Bfloat16() {
    at::autocast::set_autocast_enabled(at::kCPU, true);
    at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
    at::autocast::increment_nesting();
  }
  ~Bfloat16() {
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
    at::autocast::set_autocast_enabled(at::kCPU, false);
  }
  Bfloat16(const Bfloat16&) = delete;
  Bfloat16& operator=(const Bfloat16&) = delete;
};

}  // namespace antegrad::test
