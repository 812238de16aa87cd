// What happens when processes that train together disagree, fail or die.
#include <antegrad/antegrad.h>
#include <antegrad/distributed.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "support/data_parallel.h"

namespace antegrad::test {
namespace {

using namespace data_parallel;

TEST(DataParallelFailuresRank, DISABLED_Disagreement) {
  const auto group = join();
  const bool first = group.rank() == 0;
  const auto text_of = [&](bool broadcast, const Tensor& weight, int64_t accumulate) -> std::string {
    to::SGD optimizer({weight}, to::SGDOptions(1.0));
    StepOptions options;
    options.clip_value = accumulate;
    options.data_parallel = DataParallel{.gradients = AllReduce(group), .broadcast = broadcast};
    const auto step = training_step([&](const Tensor& x) { return (weight * x).sum(); }, optimizer, options);
    try {
      step(torch::ones({}));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::GraphChanged);
      EXPECT_TRUE(at::equal(weight, torch::ones_like(weight)));
      return error.what();
    }
    return "no error";
  };
  const auto weight = torch::ones({first ? 3 : 4}).requires_grad_();
  EXPECT_NE(text_of(true, weight, 1)
                .find("tensors of process 0\nFloat of sizes [" + std::string(first ? "4" : "3")),
            std::string::npos);
  EXPECT_NE(text_of(false, weight, 1).find("0: Float of sizes [" + std::string(first ? "4" : "3")),
            std::string::npos);
  EXPECT_NE(text_of(false, torch::ones({3}).requires_grad_(), first ? 1 : 2)
                .find("clip_value " + std::string(first ? "2" : "1")),
            std::string::npos);
}
TEST(DataParallelFailures, ProcessesThatDisagreeSaySo) {
  run_processes("DataParallelFailuresRank.DISABLED_Disagreement", 2);
}

/// A step that fails in one process before anything was communicated can be made again.
TEST(DataParallelFailuresRank, DISABLED_Failure) {
  const auto group = join();
  const auto table = torch::ones({10, 3}, at::kDouble).requires_grad_();
  to::SGD optimizer({table}, to::SGDOptions(1.0));
  StepOptions options;
  options.data_parallel = DataParallel{.gradients = AllReduce(group)};
  const auto step =
      training_step([&](const Tensor& rows) { return at::embedding(table, rows).sum(); }, optimizer, options);
  step(torch::tensor({int64_t{1}}));
  if (group.rank() == 1) {
    EXPECT_THROW(step(torch::tensor({int64_t{10}})), std::exception);
  }
  step(torch::tensor({int64_t{1}}));
  EXPECT_TRUE(at::equal(table[1], torch::full({3}, -1.0, at::kDouble))) << table;
}
TEST(DataParallelFailures, AFailedStepCanBeRepeated) {
  run_processes("DataParallelFailuresRank.DISABLED_Failure", 2);
}

/// Trains until a process dies, which must be an error in the others.
void train_until_a_process_dies(bool shard_state) {
  const auto group = join(std::chrono::seconds(15));
  auto net = net_of(1, at::kDouble);
  to::AdamW optimizer(net->parameters(), to::AdamWOptions(0.01));
  StepOptions options;
  options.data_parallel =
      DataParallel{.gradients = AllReduce(group, {.bucket_bytes = 100}), .shard_state = shard_state};
  const auto step = training_step(loss_of(net), optimizer, options);
  Tensors before;
  try {
    for (int64_t i = 0;; ++i) {
      before.clear();
      for (const auto& parameter : net->parameters()) before.push_back(parameter.detach().clone());
      step(torch::ones({4, 5}, at::kDouble));
      if (i == 2) std::cout << "running" << std::endl;
      if (i == 2 && group.rank() == 2) ::usleep(60'000'000);  // killed while the others communicate
    }
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Io) << error.what();
    std::cout << "stopped: " << error.what() << std::endl;
  }
  for (size_t i = 0; i < before.size(); ++i) EXPECT_TRUE(at::equal(net->parameters()[i], before[i])) << i;
  EXPECT_THROW(step(torch::ones({4, 5}, at::kDouble)), Error);
}
TEST(DataParallelFailuresRank, DISABLED_Forever) { train_until_a_process_dies(false); }
TEST(DataParallelFailuresRank, DISABLED_ForeverSharded) { train_until_a_process_dies(true); }

void kill_one_of_three(const std::string& test) {
  if (!distributed::available()) GTEST_SKIP() << "missing: c10d with Gloo";
  Processes processes(test, 3);
  for (int i = 0; i < 400 && processes.output(2).find("running") == std::string::npos; ++i) ::usleep(100'000);
  ASSERT_NE(processes.output(2).find("running"), std::string::npos) << processes.output(2);
  ::usleep(200'000);
  processes.kill(2);
  EXPECT_EQ(processes.status(2), -SIGKILL);
  for (const size_t rank : {0, 1}) {
    EXPECT_EQ(processes.status(rank), 0) << processes.output(rank);
    EXPECT_NE(processes.output(rank).find("stopped: "), std::string::npos) << processes.output(rank);
  }
}

TEST(DataParallelFailures, AProcessThatDiesIsAnErrorInTheOthers) {
  kill_one_of_three("DataParallelFailuresRank.DISABLED_Forever");
  kill_one_of_three("DataParallelFailuresRank.DISABLED_ForeverSharded");
}

/// A process that is alive, but does not come.
TEST(DataParallelFailuresRank, DISABLED_Silence) {
  const auto group = join(std::chrono::seconds(3));
  const auto weight = torch::ones({3}).requires_grad_();
  to::SGD optimizer({weight}, to::SGDOptions(1.0));
  StepOptions options;
  options.data_parallel = DataParallel{.gradients = AllReduce(group)};
  const auto step = training_step([&](const Tensor& x) { return (weight * x).sum(); }, optimizer, options);
  step(torch::ones({3}));
  if (group.rank() == 1) {
    ::usleep(8'000'000);
    return;
  }
  try {
    step(torch::ones({3}));
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Io) << error.what();
  }
  EXPECT_TRUE(at::equal(weight, torch::zeros({3})));
}
TEST(DataParallelFailures, AProcessThatDoesNotComeIsAnErrorInTheOthers) {
  run_processes("DataParallelFailuresRank.DISABLED_Silence", 2);
}

TEST(DataParallelFailures, WrongOptionsAreRefused) {
  struct {
    std::string name() const { return "nobody"; }
    int64_t size() const { return 2; }
  } group;
  const auto weight = torch::ones({3}).requires_grad_();
  to::SGD optimizer({weight}, to::SGDOptions(1.0));
  const auto text_of = [&](const StepOptions& options, bool whole) -> std::string {
    try {
      if (whole)
        training_step([&](const Tensor& x) { return (weight * x).sum(); }, optimizer, options);
      else
        compiled_step(optimizer, options);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
      return error.what();
    }
    return "no error";
  };
  StepOptions options, other, empty;
  options.data_parallel = DataParallel{.gradients = AllReduce(group)};
  other.options.gradients = AllReduce(group);
  empty.data_parallel = DataParallel{.gradients = AllReduce(group, {.bucket_bytes = 0})};
  EXPECT_NE(text_of(options, false).find("data_parallel are options of training_step"), std::string::npos);
  EXPECT_NE(text_of(other, true).find("Set StepOptions::data_parallel"), std::string::npos);
  EXPECT_NE(text_of(empty, true).find("has buckets of 0 bytes"), std::string::npos);
}

}  // namespace
}  // namespace antegrad::test
