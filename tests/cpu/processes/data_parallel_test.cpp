// training_step() in several processes against one process with the whole batch.
#include <antegrad/antegrad.h>
#include <antegrad/distributed.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "runtime/calling.h"
#include "support/data_parallel.h"

namespace antegrad::test {
namespace {

using namespace data_parallel;

TEST(DataParallelRank, DISABLED_Training) {
  const auto group = join();
  for (const auto type : {at::kFloat, at::kDouble})
    for (const auto& make : {kMomentum, kAdamW})
      for (const auto bucket_bytes : bucket_sizes(group)) {
        StepOptions options;
        options.data_parallel = DataParallel{.gradients = AllReduce(group, {.bucket_bytes = bucket_bytes})};
        expect_same_training(group, make, options, type);
        options.clip_norm = 0.05;
        options.gradients = Gradients::Keep;
        expect_same_training(group, make, options, type);
        options.accumulate = 3;
        expect_same_training(group, make, options, type);
      }
}
TEST(DataParallel, TwoProcessesEqualOne) { run_processes("DataParallelRank.DISABLED_Training", 2); }
TEST(DataParallel, FourProcessesEqualOne) { run_processes("DataParallelRank.DISABLED_Training", 4); }

/// Looks at what is taken while a graph runs.
struct Spy : runtime::EarlyResults {
  explicit Spy(std::shared_ptr<EarlyResults> spied) : spied(std::move(spied)) {}
  bool begin(const runtime::Caller& caller, c10::ArrayRef<Tensor> inputs) override {
    steps = caller.executable().steps();
    return spied->begin(caller, inputs);
  }
  const std::vector<runtime::EarlyStop>& stops() const override { return spied->stops(); }
  void take(size_t stop, c10::ArrayRef<Tensor> tensors) override {
    if (stops()[stop].step < steps) early += tensors.size();
    all += tensors.size();
    spied->take(stop, tensors);
  }
  std::shared_ptr<EarlyResults> spied;
  int32_t steps = 0;
  size_t early = 0, all = 0;
};

TEST(DataParallelRank, DISABLED_Early) {
  const auto group = join();
  auto net = net_of(1, at::kFloat);
  to::SGD optimizer(net->parameters(), 0.1);
  StepOptions options;
  options.data_parallel = DataParallel{.gradients = AllReduce(group, {.bucket_bytes = 1})};
  const auto core = std::make_shared<detail::TrainingCore>(optimizer, options);
  core->prepare();
  using Loss = decltype(loss_of(net));
  detail::WithoutHistory compiled(detail::LossAndGradients<Loss>{std::make_shared<Loss>(loss_of(net)), core},
                                  core->options());
  const auto spy = std::make_shared<Spy>(core->early());
  compiled.core()->hand_results_to(spy);
  const auto [gradients, result] = compiled(torch::ones({4, 5}));
  EXPECT_EQ(spy->all, net->parameters().size());
  EXPECT_GE(spy->early, 4U);
  for (const auto& gradient : gradients) EXPECT_FALSE(gradient.defined());
  core->finish(gradients);
  EXPECT_TRUE(core->last().updated);
}
TEST(DataParallel, BucketsAreCommunicatedWhileTheGraphRuns) {
  run_processes("DataParallelRank.DISABLED_Early", 2);
}

TEST(DataParallelRank, DISABLED_Sum) {
  const auto group = join();
  const auto weight = torch::zeros({3, 3}, at::kDouble).requires_grad_();
  const auto numbers = torch::arange(9, at::kDouble).view({3, 3});
  to::SGD optimizer({weight}, to::SGDOptions(1.0));
  StepOptions options;
  options.data_parallel = DataParallel{.gradients = AllReduce(group, {.average = false})};
  const auto step =
      training_step([&](const Tensor& x) { return (weight.t() * x).sum(); }, optimizer, options);
  step(numbers * (1 + group.rank()));
  EXPECT_TRUE(at::equal(weight, numbers.t() * -3)) << weight;
}
TEST(DataParallel, GradientsCanBeSums) { run_processes("DataParallelRank.DISABLED_Sum", 2); }

/// What only one process sees decides in all of them.
TEST(DataParallelRank, DISABLED_Skip) {
  const auto group = join();
  const auto weight = torch::ones({3}).requires_grad_();
  to::SGD optimizer({weight}, to::SGDOptions(0.5));
  StepOptions options;
  options.scaler = std::make_shared<GradScaler>(1024);
  options.data_parallel = DataParallel{.gradients = AllReduce(group)};
  const auto step = training_step([&](const Tensor& x) { return (weight * x).sum(); }, optimizer, options);
  step(torch::full({3}, group.rank() == 1 ? 1e37 : 1.0));  // overflows when it is scaled
  EXPECT_TRUE(step.last().skipped);
  EXPECT_TRUE(at::equal(weight, torch::ones({3})));
  EXPECT_EQ(options.scaler->scale.item<double>(), 512);
  step(torch::ones({3}));
  EXPECT_TRUE(step.last().updated);
  EXPECT_TRUE(at::allclose(weight, torch::full({3}, 0.5)));
}
TEST(DataParallel, ProcessesSkipTogether) { run_processes("DataParallelRank.DISABLED_Skip", 2); }

TEST(DataParallelRank, DISABLED_Start) {
  const auto group = join();
  for (const bool broadcast : {true, false}) {
    test::manual_seed(static_cast<uint64_t>(group.rank()));
    nn::Sequential net(nn::Linear(5, 4), nn::BatchNorm1d(4));
    for (auto& buffer : net->buffers()) buffer.fill_(group.rank() + 2);
    const auto mask = net->register_buffer("mask", torch::full({3}, group.rank() == 0, at::kBool));
    const auto phases = net->register_buffer(
        "phases", torch::full({2}, c10::complex<double>(1, static_cast<double>(group.rank()))));
    net[0]->as<nn::Linear>()->bias.set_requires_grad(false);
    to::SGD optimizer(net->parameters(), to::SGDOptions(0.0));
    StepOptions options;
    options.options.watch = {net.ptr()};
    options.data_parallel = DataParallel{.gradients = AllReduce(group), .broadcast = broadcast};
    const auto step =
        training_step([net](const Tensor& x) mutable { return net->forward(x).sum(); }, optimizer, options);
    step(torch::ones({8, 5}));
    for (const auto& parameter : {net->parameters()[0], net->parameters()[1]})
      EXPECT_EQ(is_same_everywhere(parameter, group), broadcast);
    EXPECT_EQ(net->named_buffers()["1.num_batches_tracked"].item<int64_t>(),
              broadcast ? 3 : group.rank() + 3);
    EXPECT_EQ(is_same_everywhere(mask.to(at::kLong), group), broadcast);
    EXPECT_EQ(is_same_everywhere(at::view_as_real(phases), group), broadcast);
  }
}
TEST(DataParallel, ParametersAndBuffersStartAsThoseOfTheFirst) {
  run_processes("DataParallelRank.DISABLED_Start", 2);
}

/// Parameters without gradients, frozen ones, and ones that come later.
TEST(DataParallelRank, DISABLED_Lists) {
  const auto group = join();
  const auto filled = [](double x) { return torch::full({3}, x, at::kDouble); };
  const auto first = filled(0).requires_grad_(), unused = filled(0).requires_grad_(),
             late = filled(static_cast<double>(group.rank())).requires_grad_();
  to::SGD optimizer({first, unused}, to::SGDOptions(1.0));
  StepOptions options;
  options.accumulate = 2;
  options.data_parallel = DataParallel{.gradients = AllReduce(group)};
  const auto step = training_step(
      [&](const Tensor& x, bool uses_first) { return ((uses_first ? first + late : late * 2) * x).sum(); },
      optimizer, options);
  const auto x = filled(static_cast<double>(group.rank()));  // on average 0.5
  step(x, true);
  optimizer.add_param_group(to::OptimizerParamGroup({late}));
  step(x, false);  // the gradient of `first` is that of the call before
  EXPECT_TRUE(at::equal(first, filled(-0.25))) << first;
  EXPECT_TRUE(at::equal(late, filled(-0.5))) << late;
  EXPECT_TRUE(at::equal(unused, filled(0)));
  first.set_requires_grad(false);
  for (int i = 0; i < 4; ++i) step(x, true);
  EXPECT_TRUE(at::equal(first, filled(-0.25))) << first;
  EXPECT_TRUE(at::equal(late, filled(-1.5))) << late;
}
TEST(DataParallel, ListsOfParametersMayChange) { run_processes("DataParallelRank.DISABLED_Lists", 2); }

/// Tensors of all types, layouts and sizes.
TEST(DataParallelRank, DISABLED_Kinds) {
  const auto group = join();
  struct Kinds {
    Tensors all;
    explicit Kinds(const Group& group) {
      test::manual_seed(3 + static_cast<uint64_t>(group.rank()));
      for (const auto type : {at::kFloat, at::kHalf, at::kDouble, at::kBFloat16, at::kFloat})
        for (const auto& sizes : {std::vector<int64_t>{2, 3, 4, 5}, {}, {0, 3}})
          all.push_back(torch::randn(sizes).to(type));
      all[0] = all[0].contiguous(at::MemoryFormat::ChannelsLast);
      all[6] = all[6].transpose(0, 3);
      for (auto& one : all) one.requires_grad_();
    }
    Tensor loss(const Tensor& x) const {
      auto sum = torch::zeros({}, at::kDouble);
      for (const auto& one : all) sum = sum + (one.to(at::kDouble).tanh() * x.sum()).sum();
      return sum;
    }
  };
  const Kinds kinds(group), whole(group);
  for (const bool shard : {false, true}) {
    to::SGD optimizer(kinds.all, to::SGDOptions(0.5)), reference(whole.all, to::SGDOptions(0.5));
    StepOptions options;
    options.data_parallel =
        DataParallel{.gradients = AllReduce(group, {.bucket_bytes = 500}), .shard_state = shard};
    const auto step = training_step([&](const Tensor& x) { return kinds.loss(x); }, optimizer, options);
    options = {};
    options.data_parallel = DataParallel{.gradients = AllReduce(group)};
    training_step([&](const Tensor& x) { return whole.loss(x); }, reference, options)(torch::zeros({2}));
    for (int64_t i = 0; i < 3; ++i) {
      const auto x = batch(i, {group.size()}, at::kDouble);
      step(part(x, group));
      for (const auto& one : whole.all) one.mutable_grad().reset();
      whole.loss(x / group.size()).backward();
      reference.step();
    }
    for (size_t i = 0; i < kinds.all.size(); ++i)
      EXPECT_TRUE(at::allclose(kinds.all[i].to(at::kDouble), whole.all[i].to(at::kDouble), 0, 0.05)) << i;
    for (const size_t i : {0, 6}) expect_close({kinds.all[i]}, {whole.all[i]});
  }
}
TEST(DataParallel, TensorsOfAllKinds) { run_processes("DataParallelRank.DISABLED_Kinds", 2); }

/// The function communicates in the same group, before and after its backward pass.
TEST(DataParallelRank, DISABLED_Collectives) {
  const auto group = join();
  const auto first = torch::ones({3}, at::kDouble).requires_grad_(),
             second = torch::ones({3}, at::kDouble).requires_grad_();
  to::SGD optimizer({first, second}, to::SGDOptions(1.0));
  StepOptions options;
  options.data_parallel = DataParallel{.gradients = AllReduce(group, {.bucket_bytes = 1})};
  const auto step = training_step(
      [&](const Tensor& x) { return (distributed::all_reduce(first * x, group) * second).sum(); }, optimizer,
      options);
  const auto x = torch::full({3}, static_cast<double>(1 + group.rank()), at::kDouble);  // 1 and 2
  step(x);
  // The loss of each process is 3 per element: d second = 3, d first = 2 x, on average 3.
  EXPECT_TRUE(at::equal(first, torch::full({3}, -2.0, at::kDouble))) << first;
  EXPECT_TRUE(at::equal(second, torch::full({3}, -2.0, at::kDouble))) << second;
}
TEST(DataParallel, TheFunctionMayCommunicate) { run_processes("DataParallelRank.DISABLED_Collectives", 2); }

/// A process that runs another graph, or none, takes part all the same.
TEST(DataParallelRank, DISABLED_Uncompiled) {
  const auto group = join();
  auto whole = net_of(7, at::kDouble), net = net_of(7, at::kDouble);
  to::AdamW reference(whole->parameters(), to::AdamWOptions(0.01)),
      own(net->parameters(), to::AdamWOptions(0.01));
  StepOptions options;
  options.options.unsupported = Unsupported::Eager;
  options.data_parallel = DataParallel{.gradients = AllReduce(group, {.bucket_bytes = 150})};
  const bool compiles = group.rank() == 0;
  const auto expected = training_step(loss_of(whole), reference);
  const auto step = training_step(
      [net, compiles](const Tensor& x) mutable {
        const auto loss = net->forward(x).square().mean();
        if (!compiles) loss.item<double>();
        return loss;
      },
      own, options);
  for (int64_t i = 0; i < 4; ++i) {
    const auto x = batch(i, {8, 5}, at::kDouble);
    expected(x);
    step(part(x, group));
  }
  EXPECT_EQ(step.report().eager_calls, compiles ? 0U : 4U);
  expect_close(net->parameters(), whole->parameters());
}
TEST(DataParallel, OneProcessMayRunUncompiled) { run_processes("DataParallelRank.DISABLED_Uncompiled", 2); }

}  // namespace
}  // namespace antegrad::test
