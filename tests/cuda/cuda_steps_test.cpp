// Compiled steps of optimizers and whole training steps on a CUDA device, against LibTorch's own steps there.
#include <ATen/autocast_mode.h>
#include <antegrad/export.h>
#include <antegrad/optimizers.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <sstream>
#include <thread>

#include "cuda/cuda_fixture.h"
#include "support/optimizer_twins.h"

namespace antegrad::test {
namespace {

namespace nn = torch::nn;
namespace to = torch::optim;
namespace own = antegrad;

class CudaSteps : public CudaTest {
 protected:
  static at::Device device() { return {at::kCUDA, 0}; }
  static bool is_idle() {
    const c10::impl::VirtualGuardImpl cuda(c10::kCUDA);
    return cuda.queryStream(cuda.getStream(device()));
  }
  static void synchronize() { c10::impl::VirtualGuardImpl(c10::kCUDA).synchronizeDevice(0); }
};

struct NamedOptimizer {
  const char* name;
  MakeOptimizer make;
};

std::vector<NamedOptimizer> elementwise_optimizers() {
  return {
      {"SGD", maker<to::SGD>(to::SGDOptions(0.1))},
      {"SGD, momentum", maker<to::SGD>(to::SGDOptions(0.1).momentum(0.9).dampening(0.3).weight_decay(0.1))},
      {"SGD, Nesterov", maker<to::SGD>(to::SGDOptions(0.1).momentum(0.9).nesterov(true))},
      {"Adam, amsgrad", maker<to::Adam>(to::AdamOptions(0.01).weight_decay(0.1).amsgrad(true))},
      {"AdamW", maker<to::AdamW>(to::AdamWOptions(0.01))},
      {"Adagrad", maker<to::Adagrad>(to::AdagradOptions(0.1).weight_decay(0.1).lr_decay(0.2))},
      {"RMSprop",
       maker<to::RMSprop>(to::RMSpropOptions(0.01).centered(true).momentum(0.9).weight_decay(0.1).eps(0.01))},
      {"Lion", maker<own::Lion>(own::LionOptions(0.01).weight_decay(0.1))},
      {"NAdam", maker<own::NAdam>(own::NAdamOptions(0.01).weight_decay(0.1).decoupled_weight_decay(true))},
  };
}

std::vector<NamedOptimizer> all_optimizers() {
  auto all = elementwise_optimizers();
  all.push_back({"Lamb", maker<own::Lamb>(own::LambOptions(0.01))});
  all.push_back(
      {"Adafactor", maker<own::Adafactor>(own::AdafactorOptions(0.01).eps1(1e-6).weight_decay(0.1))});
  return all;
}

/// Small and large ones, in several layouts.
Tensors some_parameters(at::ScalarType type) {
  const auto options = on_cuda(type);
  return {torch::randn({3, 5}, options),
          torch::randn({}, options),
          torch::randn({300'001}, options),
          torch::randn({0, 4}, options),
          torch::randn({6, 4}, options).t(),
          torch::randn({2, 3, 4, 5}, options).contiguous(at::MemoryFormat::ChannelsLast)};
}

Tensors gradients_like(const Tensors& parameters) {
  Tensors out;
  for (const auto& parameter : parameters) out.push_back(torch::randn_like(parameter).detach());
  return out;
}

void expect_steps(Twins& twins, int steps) {
  for (int i = 0; i < steps; ++i) {
    SCOPED_TRACE(c10::str("step ", i));
    twins.set_gradients(gradients_like(twins.eager_parameters));
    twins.step();
    ASSERT_EQ(twins.difference(), "");
    twins.align();
  }
  EXPECT_EQ(twins.compiled_step().report().eager_calls, 0U);
}

TEST_F(CudaSteps, EqualEveryOptimizerInEveryType) {
  for (const auto type : {at::kFloat, at::kDouble, at::kBFloat16, at::kHalf})
    for (const auto& [name, make] : elementwise_optimizers()) {
      SCOPED_TRACE(c10::str(name, " of ", type));
      if (type != at::kDouble && std::string_view(name) == "Lion") continue;  // a sign depends on rounding
      manual_seed(1);
      Twins twins({some_parameters(type)}, make);
      expect_steps(twins, 3);
      EXPECT_EQ(twins.compiled_step().report().captures, runs_libtorch_kernels() ? 0U : 1U);
    }
}

TEST_F(CudaSteps, EqualOptimizersThatNeedSums) {
  for (const auto& [name, make] : all_optimizers()) {
    const std::string_view known(name);
    if (known != "Lamb" && known != "Adafactor") continue;
    SCOPED_TRACE(name);
    manual_seed(1);
    Twins twins({some_parameters(at::kDouble)}, make);
    expect_steps(twins, 3);
  }
  Twins twins({{torch::randn({40, 30}, on_cuda(at::kDouble)), torch::randn({8, 50}, on_cuda(at::kDouble))}},
              maker<own::Muon>(own::MuonOptions(0.01).ns_dtype(at::kDouble)));
  expect_steps(twins, 2);
}

TEST_F(CudaSteps, ClipAndAverage) {
  for (const double type : {2.0, 1.0, 3.0, std::numeric_limits<double>::infinity(), 0.0})
    for (const auto& [name, make] :
         {elementwise_optimizers()[0], elementwise_optimizers()[4], all_optimizers()[9]}) {
      SCOPED_TRACE(c10::str(name, ", norm ", type));
      StepOptions options;
      options.clip_norm = 0.5;
      options.norm_type = type;
      options.average = std::make_shared<WeightAverage>(0.9);
      manual_seed(2);
      // LibTorch rounds the number of gradients, and what follows from it, to f32.
      const bool counts = type == 0;
      if (counts && std::string_view(name) != "SGD") continue;
      auto parameters = some_parameters(counts ? at::kFloat : at::kDouble);
      // LibTorch finds no largest element of an empty gradient.
      if (std::isinf(type))
        std::erase_if(parameters, [](const at::Tensor& tensor) { return tensor.numel() == 0; });
      Twins twins({parameters}, make, options);
      expect_steps(twins, 2);
      EXPECT_NEAR(twins.compiled_step().last().gradient_norm / twins.norm, 1, 1e-6);
      EXPECT_EQ(options.average->averages.size(), parameters.size());
    }
  StepOptions options;
  options.clip_value = 0.1;
  Twins twins({some_parameters(at::kFloat)}, elementwise_optimizers()[4].make, options);
  expect_steps(twins, 2);
}

nn::Sequential make_net(at::ScalarType type = at::kDouble) {
  manual_seed(4);
  nn::Sequential net(nn::Linear(6, 64), nn::Tanh(), nn::LayerNorm(nn::LayerNormOptions({64})),
                     nn::Linear(64, 64), nn::GELU(), nn::Linear(64, 1));
  net->to(at::kCUDA, type);
  return net;
}

at::Tensor loss_of(nn::Sequential& net, const at::Tensor& x) {
  return (net->forward(x) - x.sum(1, true).sin()).pow(2).mean() * 0.1;
}

at::Tensor random_batch(at::ScalarType type = at::kDouble) { return torch::randn({32, 6}, on_cuda(type)); }

void expect_same_nets(nn::Sequential& a, nn::Sequential& b, double tolerance = 1e-7) {
  for (size_t i = 0; i < a->parameters().size(); ++i) {
    EXPECT_TRUE(a->parameters()[i].isfinite().all().item<bool>());
    EXPECT_TRUE(at::allclose(a->parameters()[i], b->parameters()[i], tolerance, tolerance / 10))
        << i << ": " << (a->parameters()[i] - b->parameters()[i]).abs().max().item<double>();
  }
}

/// Whatever one has written, the other continues.
void swap_checkpoints(to::Optimizer& a, to::Optimizer& b) {
  std::stringstream of_a, of_b;
  torch::save(a, of_a);
  torch::save(b, of_b);
  torch::load(a, of_b);
  torch::load(b, of_a);
}

TEST_F(CudaSteps, TrainForAHundredSteps) {
  for (const auto& [name, make] : all_optimizers()) {
    SCOPED_TRACE(name);
    auto net = make_net(), other = make_net();
    const auto eager = make({to::OptimizerParamGroup(net->parameters())});
    const auto optimizer = make({to::OptimizerParamGroup(other->parameters())});
    const auto step = compiled_step(*optimizer);
    for (int i = 0; i < 100; ++i) {
      const auto x = random_batch();
      eager->zero_grad();
      optimizer->zero_grad();
      loss_of(net, x).backward();
      loss_of(other, x).backward();
      eager->step();
      step();
      if (i == 50) swap_checkpoints(*eager, *optimizer);
    }
    expect_same_nets(net, other);
    EXPECT_EQ(step.report().eager_calls, 0U);
  }
}

struct Way {
  const char* name;
  StepOptions options;
};
std::vector<Way> ways() {
  std::vector<Way> all(6);
  all[0].name = "early";
  all[1].name = "clipped";
  all[1].options.clip_norm = 0.05;
  all[2].name = "kept";
  all[2].options.gradients = Gradients::Keep;
  all[3].name = "accumulated";
  all[3].options.accumulate = 2;
  all[4].name = "averaged";
  all[4].options.average = std::make_shared<WeightAverage>(0.9);
  all[5].name = "scaled";
  all[5].options.scaler = std::make_shared<GradScaler>(1024);
  return all;
}

TEST_F(CudaSteps, WholeStepsTrainForAHundred) {
  for (auto& [name, options] : ways())
    for (const bool scaler_on_device : {false, true}) {
      if (scaler_on_device && !options.scaler) continue;
      SCOPED_TRACE(c10::str(name, scaler_on_device ? ", scale on the device" : ""));
      if (scaler_on_device) {
        options.scaler->scale = options.scaler->scale.to(at::kCUDA);
        options.scaler->growth_tracker = options.scaler->growth_tracker.to(at::kCUDA);
      }
      auto net = make_net(), other = make_net();
      to::AdamW eager(net->parameters(), to::AdamWOptions(0.01)),
          optimizer(other->parameters(), to::AdamWOptions(0.01));
      auto given = options;
      given.options.name = name;
      const auto step =
          training_step([&](const at::Tensor& x) { return loss_of(other, x); }, optimizer, given);
      for (int i = 0; i < 100; ++i) {
        const auto x = random_batch();
        const bool updates = (i + 1) % options.accumulate == 0;
        if (i % options.accumulate == 0) eager.zero_grad();
        (loss_of(net, x) / options.accumulate).backward();
        if (updates && options.clip_norm) nn::utils::clip_grad_norm_(net->parameters(), *options.clip_norm);
        if (updates) eager.step();
        step(x);
        if (i == 50) swap_checkpoints(eager, optimizer);
        if (i % 10 != 0) continue;
        EXPECT_EQ(step.last().updated, updates);
      }
      expect_same_nets(net, other);
      EXPECT_EQ(step.step_report().eager_calls, 0U);
      EXPECT_EQ(step.report().eager_calls, 0U);
      if (options.gradients != Gradients::Keep) continue;
      EXPECT_TRUE(at::allclose(other->parameters()[0].grad(), net->parameters()[0].grad(), 1e-7, 1e-9));
    }
}

TEST_F(CudaSteps, DecideOnTheDeviceWhatToSkip) {
  for (const auto& [name, make] : elementwise_optimizers()) {
    SCOPED_TRACE(name);
    const auto weight = torch::ones({5000}, on_cuda()).requires_grad_();
    auto optimizer = make({to::OptimizerParamGroup({weight})});
    StepOptions options;
    options.skip_nonfinite = true;
    const auto step = compiled_step(*optimizer, options);
    weight.mutable_grad() = torch::ones_like(weight).detach();
    weight.mutable_grad()[4999] = std::numeric_limits<float>::quiet_NaN();
    step();
    EXPECT_TRUE(step.last().skipped);
    EXPECT_FALSE(step.last().updated);
    EXPECT_TRUE(at::equal(weight, torch::ones_like(weight)));
    EXPECT_EQ(state_of(*optimizer, weight).steps, 0);
    const bool at_construction = std::string_view(name) == "Adagrad";
    EXPECT_EQ(optimizer->state().size(), at_construction ? 1U : 0U);
    weight.mutable_grad() = torch::ones_like(weight).detach();
    step();
    EXPECT_FALSE(step.last().skipped);
    EXPECT_TRUE(step.last().updated);
    EXPECT_FALSE(at::equal(weight, torch::ones_like(weight)));
    const auto before = weight.detach().clone();
    const auto steps = state_of(*optimizer, weight).steps;
    weight.mutable_grad()[0] = std::numeric_limits<float>::infinity();
    step();
    EXPECT_TRUE(step.last().skipped);
    EXPECT_TRUE(at::equal(weight, before));
    EXPECT_EQ(state_of(*optimizer, weight).steps, steps);
  }
}

TEST_F(CudaSteps, AdjustTheScaleOnTheDevice) {
  for (const bool on_device : {false, true}) {
    const auto weight = torch::ones({3}, on_cuda()).requires_grad_();
    to::Adam optimizer({weight}, to::AdamOptions(0.5));
    StepOptions options;
    options.scaler = std::make_shared<GradScaler>(1024);
    options.scaler->growth_interval = 2;
    if (on_device) {
      options.scaler->scale = options.scaler->scale.to(at::kCUDA);
      options.scaler->growth_tracker = options.scaler->growth_tracker.to(at::kCUDA);
    }
    const auto step =
        training_step([&](const at::Tensor& x) { return (weight * x).sum(); }, optimizer, options);
    const auto ones = torch::ones({3}, on_cuda());
    step(ones);
    const auto before = weight.detach().clone();
    step(torch::full({3}, 1e37, on_cuda()));  // overflows when it is scaled
    EXPECT_TRUE(step.last().skipped);
    EXPECT_TRUE(at::equal(weight, before));
    EXPECT_EQ(options.scaler->scale.item<double>(), 512);
    step(ones);
    step(ones);
    EXPECT_EQ(options.scaler->scale.item<double>(), 1024);
    EXPECT_EQ(state_of(optimizer, weight).steps, 3);
    EXPECT_EQ(step.report().captures, 1U);
  }
}

/// Work that takes the device much longer than a step takes the host.
void keep_busy() {
  auto big = torch::randn({4096, 4096}, on_cuda());
  for (int i = 0; i < 60; ++i) big = at::mm(big, big).mul_(1e-3);
}

TEST_F(CudaSteps, DoNotWaitForTheDevice) {
  auto net = make_net(at::kFloat);
  to::AdamW optimizer(net->parameters(), to::AdamWOptions(1e-3));
  StepOptions options;
  options.clip_norm = 0.01;
  const auto step = compiled_step(optimizer, options);
  const auto train = training_step([&](const at::Tensor& x) { return loss_of(net, x); }, optimizer, options);
  const auto x = random_batch(at::kFloat);
  loss_of(net, x).backward();
  for (int i = 0; i < 3; ++i) {
    step();
    train(x);
  }
  keep_busy();  // leaves memory in the allocator
  synchronize();
  keep_busy();
  step();
  train(x);
  EXPECT_FALSE(is_idle()) << "something has waited";
  EXPECT_GT(train.last().gradient_norm, 0);
  EXPECT_TRUE(is_idle());
}

TEST_F(CudaSteps, RunOnTheCallersStream) {
  const c10::impl::VirtualGuardImpl cuda(c10::kCUDA);
  const c10::StreamGuard side(cuda.getStreamFromGlobalPool(device()));
  const auto weight = torch::zeros({100'000}, on_cuda()).requires_grad_();
  to::SGD optimizer({weight}, to::SGDOptions(1.0));
  StepOptions options;
  options.clip_norm = 1e9;
  const auto step = compiled_step(optimizer, options);
  for (int i = 0; i < 3; ++i) {
    keep_busy();
    weight.mutable_grad() = torch::full({100'000}, -1.0, on_cuda());
    step();
    EXPECT_EQ(weight.min().item<float>(), static_cast<float>(i + 1));
  }
}

TEST_F(CudaSteps, WorkUnderAutocast) {
  auto net = make_net(at::kFloat), other = make_net(at::kFloat);
  to::SGD eager(net->parameters(), to::SGDOptions(0.1)), optimizer(other->parameters(), to::SGDOptions(0.1));
  StepOptions options;
  options.autocast = at::kBFloat16;
  const auto step = training_step([&](const at::Tensor& x) { return loss_of(other, x); }, optimizer, options);
  for (int i = 0; i < 20; ++i) {
    const auto x = random_batch(at::kFloat);
    eager.zero_grad();
    at::autocast::set_autocast_enabled(at::kCUDA, true);
    at::autocast::set_autocast_dtype(at::kCUDA, at::kBFloat16);
    const auto loss = loss_of(net, x);
    at::autocast::clear_cache();
    at::autocast::set_autocast_enabled(at::kCUDA, false);
    loss.backward();
    eager.step();
    step(x);
  }
  EXPECT_NE(step.report().captures, 0U);
  expect_same_nets(net, other, 3e-2);
}

TEST_F(CudaSteps, UpdateTensorsInTheMiddleOfVectors) {
  for (const auto type : {at::kFloat, at::kBFloat16}) {
    auto memory = torch::ones({2, 5001}, on_cuda(type));
    const auto weight = memory[0].slice(0, 1).detach().requires_grad_();
    weight.mutable_grad() = memory[1].slice(0, 1).detach();
    to::SGD optimizer({weight}, to::SGDOptions(0.5).momentum(0.5));
    StepOptions options;
    options.clip_norm = 1e9;
    const auto step = compiled_step(optimizer, options);
    step();
    EXPECT_TRUE(at::equal(weight, torch::full_like(weight, 0.5)));
    EXPECT_EQ(memory[0][0].item<float>(), 1);
    EXPECT_NEAR(step.last().gradient_norm, std::sqrt(5000), 1e-4);
  }
}

TEST_F(CudaSteps, RefuseWhatTheyCannotDo) {
  const auto here = torch::ones({3}).requires_grad_(), there = torch::ones({3}, on_cuda()).requires_grad_();
  for (const auto& parameter : {here, there}) parameter.mutable_grad() = torch::ones_like(parameter).detach();
  to::SGD optimizer({here, there}, to::SGDOptions(1.0));
  const auto step = compiled_step(optimizer);
  try {
    step();
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::UnsupportedTensor);
    EXPECT_NE(std::string(error.what()).find("is on cuda:0, and another one on cpu"), std::string::npos)
        << error.what();
  }
  EXPECT_EQ(here.sum().item<float>(), 3);
  StepOptions eagerly;
  eagerly.options.unsupported = Unsupported::Eager;
  compiled_step(optimizer, eagerly)();
  EXPECT_EQ(here.sum().item<float>(), 0);
  EXPECT_EQ(there.sum().item<float>(), 0);

  StepOptions without;
  without.options.cuda_kernels = false;
  without.clip_norm = 1e9;
  to::SGD other({there}, to::SGDOptions(1.0));
  if (std::getenv("ANTEGRAD_CUDA_KERNELS") != nullptr) return;  // overrides it
  const auto plain = compiled_step(other, without);
  plain();
  EXPECT_EQ(there.sum().item<float>(), -3);
  EXPECT_EQ(plain.report().eager_reasons, std::vector<std::string>{"Options::cuda_kernels is off"});
}

TEST_F(CudaSteps, UpdateMoreThanTwoToThe31Elements) {
  if (std::getenv("ANTEGRAD_TEST_LARGE") == nullptr)
    GTEST_SKIP() << "ANTEGRAD_TEST_LARGE=1 takes 100 GB of the device";
  constexpr int64_t kElements = (int64_t{1} << 32) + 5;
  const auto weight = torch::ones({kElements}, on_cuda()).requires_grad_();
  weight.mutable_grad() = torch::ones({kElements}, on_cuda());
  to::SGD sgd({weight}, to::SGDOptions(0.5));
  StepOptions clipping;
  clipping.clip_norm = 1e9;
  const auto step = compiled_step(sgd, clipping);
  step();
  EXPECT_EQ(weight.min().item<float>(), 0.5F);
  EXPECT_EQ(weight.max().item<float>(), 0.5F);
  EXPECT_NEAR(step.last().gradient_norm, 65536.0, 1e-3);
  // Its state takes more than there is.
  Tensors rest;
  try {
    while (true) rest.push_back(torch::empty({int64_t{1} << 30}, on_cuda()));
  } catch (const c10::Error&) {
  }
  to::Adam adam({weight}, to::AdamOptions(0.5));
  const auto failing = compiled_step(adam);
  EXPECT_THROW(failing(), c10::OutOfMemoryError);
  EXPECT_EQ(weight.min().item<float>(), 0.5F);
  EXPECT_TRUE(adam.state().empty());
  rest.clear();
  failing();
  EXPECT_LT(weight.max().item<float>(), 0.5F);
}

TEST_F(CudaSteps, FunctionsCompileInTheBackground) {
  auto options = cuda_options("background");
  options.compile = Compile::Background;
  auto net = make_net(at::kFloat);
  options.watch = {net.ptr()};
  auto loss = compile([&](const at::Tensor& x) { return loss_of(net, x); }, options);
  const auto x = random_batch(at::kFloat);
  const auto expected = loss_of(net, x);
  bool compiled = false;
  for (int i = 0; i < 2000 && !compiled; ++i) {
    const auto waiting = loss.report().waiting_calls;
    net->zero_grad();
    const auto y = loss(x);
    EXPECT_TRUE(at::allclose(y, expected, 1e-4, 1e-5));
    y.backward();
    compiled = loss.report().waiting_calls == waiting;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_TRUE(compiled);
  EXPECT_EQ(loss.report().captures, 1U);
}

TEST_F(CudaSteps, FunctionsKeepToMemoryBudgets) {
  for (const double share : {0.0, 0.5}) {
    auto options = cuda_options("budget");
    options.policy = MemoryBudget::fraction(share);
    expect_as_eager(
        "budget",
        [](const Tensors& t) {
          auto x = t[0];
          for (int i = 0; i < 4; ++i) x = at::layer_norm(at::gelu(at::mm(x, t[1]) * 0.1).tanh(), {64}) + x;
          return Tensors{x};
        },
        {cuda_leaf({200, 64}), cuda_leaf({64, 64})}, options);
  }
}

TEST_F(CudaSteps, FunctionsAreExported) {
  const auto function = [](const at::Tensor& x, const at::Tensor& w) { return at::mm(x, w).tanh().sum(); };
  const auto x = torch::randn({8, 6}, on_cuda()), w = torch::randn({6, 3}, on_cuda());
  const auto exported = export_inference(function, x, w);
  EXPECT_NE(exported.graph().find("@cuda:0"), std::string::npos);
  EXPECT_TRUE(at::allclose(exported.run({x, w}).at(0), function(x, w), 1e-3, 1e-4));
}

}  // namespace
}  // namespace antegrad::test
