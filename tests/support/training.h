#pragma once
// Trains one program twice from equal weights on equal data, eagerly and compiled, and checks that nothing
// differs: losses after every step, gradients, parameters, buffers, the random generator.
#include <ATen/autocast_mode.h>
#include <antegrad/antegrad.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "support/same_as_eager.h"
#include "support/seeds.h"

namespace antegrad::test {

using Losses = std::vector<at::Tensor>;

enum class Way { Eager, Compiled };

/// The base class of training programs. A program registers its nets and functions here, and defines
///   Losses step();
/// which runs one step on data that it draws itself, and returns the losses to compare.
class TrainingProgram {
 public:
  /// A program states how often a function may be captured, and whether the captured graphs run eager's
  /// kernels in eager's order, so that every bit is equal.
  static constexpr uint64_t kCaptures = 1;
  static constexpr bool kEagerOrder = true;

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
  /// Registers a net to be trained: it is compared, and watched by functions that are compiled after this.
  template <class Holder>
  Holder net(Holder holder) {
    nets_.push_back(holder.ptr());
    return holder;
  }

  /// Returns the callable itself, or compiled.
  template <class... Args, class F>
  std::function<at::Tensor(Args...)> function(F callable) {
    if (way_ == Way::Eager) return callable;
    auto options = options_;
    options.watch = nets_;
    return reported(compile(callable, options));
  }
  /// Returns a module's forward(); when compiled, the module itself is given to compile().
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

/// Programs that draw random numbers inside their functions can only be compared with eager with this.
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

/// The random numbers of a step depend only on its number.
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

/// Compares bits where LibTorch's kernels run in eager's order, else what `comparisons` allow.
template <class Program>
::testing::AssertionResult same_tensors(const Tensors& eager, const Tensors& compiled,
                                        Comparisons& comparisons) {
  if (Program::kEagerOrder && runs_libtorch_kernels()) return same(eager, compiled);
  if (eager.size() != compiled.size())
    return ::testing::AssertionFailure() << eager.size() << " and " << compiled.size() << " tensors";
  for (size_t i = 0; i < eager.size(); ++i) {
    if (eager[i].defined() != compiled[i].defined())
      return ::testing::AssertionFailure() << "tensor " << i << " is defined in one of the two only";
    if (!eager[i].defined()) continue;
    if (const auto difference = comparisons.difference(eager[i], compiled[i]))
      return ::testing::AssertionFailure() << "tensor " << i << ": " << *difference;
  }
  return ::testing::AssertionSuccess();
}

/// Training amplifies rounding differences.
inline int comparable_steps() { return runs_libtorch_kernels() ? 20 : 3; }

/// Records what a program has after each step, in the order in which expect_equal_steps() compares it.
template <class Program>
void record_steps(Program& program, Comparisons& seen) {
  const auto add = [&](const Tensors& tensors) {
    EXPECT_TRUE(same_tensors<Program>(tensors, tensors, seen));
  };
  for (int step = 0; step < comparable_steps(); ++step) {
    add(seeded_step(program, step));
    add(program.gradients());
  }
  add(program.parameters());
  add(program.buffers());
}

/// Trains one program in two ways, step by step, and compares.
template <class Program>
void expect_equal_steps(Program& expected, Program& actual, Comparisons& comparisons) {
  const auto before = copies(actual.parameters());
  for (int step = 0; step < comparable_steps(); ++step) {
    SCOPED_TRACE("step " + std::to_string(step));
    const auto expected_losses = seeded_step(expected, step);
    const auto generator = at::detail::getDefaultCPUGenerator().get_state();
    const auto losses = seeded_step(actual, step);
    ASSERT_TRUE(generator.equal(at::detail::getDefaultCPUGenerator().get_state()));
    ASSERT_TRUE(same_tensors<Program>(expected_losses, losses, comparisons));
    ASSERT_TRUE(same_tensors<Program>(expected.gradients(), actual.gradients(), comparisons));
  }
  EXPECT_TRUE(same_tensors<Program>(expected.parameters(), actual.parameters(), comparisons));
  EXPECT_TRUE(same_tensors<Program>(expected.buffers(), actual.buffers(), comparisons));
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
  Comparisons comparisons(
      [](Comparisons& seen) { record_steps(*seeded_program<Program>(Way::Eager), seen); });
  expect_equal_steps(*eager, *compiled, comparisons);
}

/// Enables autocast to bfloat16 while it lives.
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
