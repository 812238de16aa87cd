// What compiled_step() refuses, and that a step that fails changes nothing.
#include <antegrad/optim.h>
#include <antegrad/optimizers.h>

#include "error/expect_error.h"
#include "runtime/memory_pool.h"
#include "support/counting_allocator.h"
#include "support/optimizer_twins.h"

namespace antegrad::test {
namespace {

using at::Tensor;
namespace to = torch::optim;

/// An optimizer that LibTorch does not define.
struct SignDescent : to::SGD {
  using to::SGD::SGD;
  Tensor step(LossClosure = nullptr) override {
    const at::NoGradGuard no_grad;
    for (auto& p : parameters()) p.sub_(p.grad().sign());
    return {};
  }
};

template <class Run>
void expect_refused(ErrorCode code, const std::string& part, const Run& run) {
  try {
    run();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

StepOptions tolerant() {
  StepOptions options;
  options.options.unsupported = Unsupported::Eager;
  return options;
}

TEST(CompiledStepErrors, RefusesUnknownOptimizers) {
  const auto p = torch::ones({2}).requires_grad_();
  p.mutable_grad() = torch::full({2}, 3.0);
  SignDescent unknown({p}, to::SGDOptions(1.0));
  expect_refused(ErrorCode::UnsupportedArgument, "SignDescent", [&] { compiled_step(unknown); });
  to::LBFGS lbfgs({p}, to::LBFGSOptions());
  expect_refused(ErrorCode::UnsupportedArgument, "LBFGS", [&] { compiled_step(lbfgs); });
  const auto step = compiled_step(unknown, tolerant());
  step();
  EXPECT_TRUE(at::equal(p, torch::zeros({2})));
  EXPECT_EQ(step.report().eager_calls, 1u);
  EXPECT_EQ(step.report().eager_reasons.size(), 1u);
}

TEST(CompiledStepErrors, RefusesTensorsThatKernelsCannotUpdate) {
  const auto table = torch::ones({4, 2}).requires_grad_();
  const auto indices = torch::tensor({{0, 2}});
  table.mutable_grad() = torch::sparse_coo_tensor(indices, torch::ones({2, 2}), {4, 2});
  to::SGD sparse({table}, to::SGDOptions(0.5));
  expect_refused(ErrorCode::UnsupportedTensor, "is sparse", [&] { compiled_step(sparse)(); });
  EXPECT_TRUE(at::equal(table, torch::ones({4, 2})));
  compiled_step(sparse, tolerant())();
  EXPECT_EQ(table[2][1].item<float>(), 0.5f);

  const auto number = torch::ones({3}, at::kComplexFloat).requires_grad_();
  number.mutable_grad() = torch::ones({3}, at::kComplexFloat);
  to::SGD complex({number}, to::SGDOptions(0.5));
  expect_refused(ErrorCode::UnsupportedTensor, "ComplexFloat", [&] { compiled_step(complex)(); });

  const auto own = torch::ones({3}).requires_grad_();
  own.mutable_grad() = own.detach();
  to::AdamW aliased({own}, to::AdamWOptions(0.5));
  expect_refused(ErrorCode::UnsupportedTensor, "shares memory", [&] { compiled_step(aliased)(); });
  EXPECT_TRUE(aliased.state().empty());

  const auto first = torch::ones({2, 3}).requires_grad_(), second = torch::ones({3, 2}).requires_grad_();
  first.mutable_grad() = torch::ones({2, 3});
  second.mutable_grad() = first.detach().t();  // LibTorch reads it after it has updated the first one
  to::SGD in_order({first, second}, to::SGDOptions(0.5));
  expect_refused(ErrorCode::UnsupportedTensor, "has another layout", [&] { compiled_step(in_order)(); });
  EXPECT_TRUE(at::equal(first, torch::ones({2, 3})));
  compiled_step(in_order, tolerant())();
  EXPECT_TRUE(at::equal(second, torch::full({3, 2}, 0.75)));
}

TEST(CompiledStepErrors, RefusesStateOfOtherOptions) {
  const auto p = torch::ones({3}).requires_grad_();
  p.mutable_grad() = torch::ones({3});
  to::Adam optimizer({p}, to::AdamOptions(0.5));
  const auto step = compiled_step(optimizer);
  step();
  static_cast<to::AdamOptions&>(optimizer.param_groups()[0].options()).amsgrad(true);
  expect_refused(ErrorCode::UnsupportedTensor, "made for other options", [&] { step(); });
  EXPECT_EQ(state_of(optimizer, p).steps, 1);

  to::Adagrad adagrad({p}, to::AdagradOptions(0.5));
  const auto q = torch::ones({3}).requires_grad_();
  q.mutable_grad() = torch::ones({3});
  adagrad.add_param_group(to::OptimizerParamGroup({q}, std::make_unique<to::AdagradOptions>(0.5)));
  expect_refused(ErrorCode::UnsupportedTensor, "has no state", [&] { compiled_step(adagrad)(); });
}

TEST(CompiledStepErrors, RefusesOptions) {
  const auto p = torch::ones({3}).requires_grad_();
  to::SGD optimizer({p}, to::SGDOptions(0.5));
  StepOptions options;
  options.clip_norm = -1;
  expect_refused(ErrorCode::InvalidArgument, "clip_norm is -1", [&] { compiled_step(optimizer, options); });
  options.clip_norm = 1;
  options.clip_value = 1;
  expect_refused(ErrorCode::InvalidArgument, "both set", [&] { compiled_step(optimizer, options); });
  options.clip_norm = {};
  options.clip_value = -2;
  expect_refused(ErrorCode::InvalidArgument, "clip_value is -2", [&] { compiled_step(optimizer, options); });
  options.clip_value = {};
  options.norm_type = -1;
  expect_refused(ErrorCode::InvalidArgument, "norm_type is -1", [&] { compiled_step(optimizer, options); });
}

TEST(CompiledStepErrors, RefusesNormsThatAreNotFinite) {
  const auto p = torch::ones({3}).requires_grad_();
  p.mutable_grad() = torch::full({3}, std::numeric_limits<float>::infinity());
  to::AdamW optimizer({p}, to::AdamWOptions(0.5));
  StepOptions options;
  options.clip_norm = 1;
  options.error_if_nonfinite = true;
  expect_refused(ErrorCode::InvalidArgument, "the norm of the gradients is inf",
                 [&] { compiled_step(optimizer, options)(); });
  EXPECT_TRUE(at::equal(p, torch::ones({3})));
  EXPECT_TRUE(optimizer.state().empty());
}

TEST(CompiledStepErrors, ChangesNothingWhenMemoryOfAFunctionRunsOut) {
  if (runs_libtorch_kernels()) return;  // LibTorch's own steps stop in the middle
  auto& allocator = CountingAllocator::installed();
  for (const auto& make : {maker<Lamb>(LambOptions(0.1)), maker<Adafactor>(AdafactorOptions(0.1)),
                           maker<Muon>(MuonOptions(0.1).ns_dtype(at::kFloat).ns_steps(2))}) {
    Twins twins({{torch::randn({40, 50})}, {torch::randn({50, 40})}}, make);
    twins.set_gradients({torch::randn({40, 50}), torch::randn({50, 40})});
    twins.step();
    twins.align();
    const auto &p = twins.compiled_parameters[0], &q = twins.compiled_parameters[1];
    const auto before = p.detach().clone(), other_before = q.detach().clone();
    const auto state_before = state_of(*twins.compiled, p).tensors[0].clone();
    int failures = 0;
    for (int n = 0;; ++n) {
      ASSERT_LT(n, 200);
      runtime::memory_pool::clear();
      allocator.fail_after(n);
      try {
        twins.compiled_step()();
      } catch (const std::exception&) {
      }
      const bool failed = allocator.failed();
      allocator.fail_after(-1);
      if (!failed) break;
      ++failures;
      ASSERT_TRUE(at::equal(before, p)) << n;
      ASSERT_TRUE(at::equal(other_before, q)) << n;
      ASSERT_TRUE(at::equal(state_before, state_of(*twins.compiled, p).tensors[0])) << n;
    }
    EXPECT_GT(failures, 0);
    EXPECT_FALSE(at::equal(before, p));
    twins.eager->step();
    EXPECT_TRUE(at::allclose(twins.eager_parameters[0], p, 1e-4, 1e-5));
  }
}

TEST(CompiledStepErrors, ChangesNothingWhenMemoryRunsOut) {
  auto& allocator = CountingAllocator::installed();
  for (const bool clips : {false, true}) {
    StepOptions options;
    if (clips) options.clip_norm = 0.1;
    const auto p = torch::randn({40, 50}), q = torch::randn({50, 40});
    Twins twins({{p, q}}, maker<to::AdamW>(to::AdamWOptions(0.1).amsgrad(true)), options);
    twins.set_gradients({torch::randn({40, 50}), torch::randn({40, 50}).t()});
    const auto before = twins.compiled_parameters[0].detach().clone();
    int failures = 0;
    for (int n = 0;; ++n) {
      ASSERT_LT(n, 100);
      allocator.fail_after(n);
      try {
        twins.compiled_step()();
      } catch (const std::exception&) {
      }
      const bool failed = allocator.failed();
      allocator.fail_after(-1);
      if (!failed) break;
      ++failures;
      EXPECT_TRUE(at::equal(before, twins.compiled_parameters[0]));
      EXPECT_TRUE(twins.compiled->state().empty());
    }
    EXPECT_GT(failures, 5);
    EXPECT_EQ(state_of(*twins.compiled, twins.compiled_parameters[1]).steps, 1);
  }
}

}  // namespace
}  // namespace antegrad::test
