// Trains the GPT of train_gpt in two processes, each on excerpts of its own, whose gradients are averaged.
//
//     distributed_gpt [--steps N]
//
// The program starts itself twice. Compared with one process, a process joins a group and sets
// StepOptions::data_parallel.
#include <antegrad/antegrad.h>
#include <antegrad/distributed.h>
#include <sys/wait.h>

#include <filesystem>

#include "example.h"
#include "gpt.h"

namespace {

using namespace gpt;
namespace distributed = antegrad::distributed;

constexpr int kProcesses = 2;

/// Whether a number is the same in all processes.
bool is_same_everywhere(const Tensor& number, const distributed::Group& group) {
  const auto all = distributed::all_gather(number.detach().reshape({1}), group);
  return at::equal(all, all[0].expand_as(all));
}

int train(int rank, const std::string& meeting, int steps) {
  const auto group = distributed::gloo(meeting, rank, kProcesses,
                                       {.timeout = std::chrono::seconds(60), .host = "127.0.0.1"});
  torch::manual_seed(static_cast<uint64_t>(rank));  // other excerpts in each process
  const Corpus corpus(read_file(ANTEGRAD_EXAMPLE_DATA "/ferry.txt"));
  Gpt net(corpus.letters());
  torch::optim::AdamW optimizer(net->parameters(), torch::optim::AdamWOptions(3e-3).weight_decay(0.01));

  antegrad::StepOptions options;
  options.options.name = "loss";
  options.options.watch = {net.ptr()};
  options.clip_norm = 1.0;
  options.data_parallel =
      antegrad::DataParallel{.gradients = antegrad::AllReduce(group, {.bucket_bytes = 64 << 10})};
  auto train = antegrad::training_step(
      [&](const Tensor& x, const Tensor& y) {
        return nn::functional::cross_entropy(net->forward(x).flatten(0, 1), y.flatten());
      },
      optimizer, options);

  std::vector<double> losses;
  for (int step = 0; step < steps; ++step) {
    auto [x, y] = corpus.batch();
    const auto loss = train(x, y);
    losses.push_back(distributed::all_reduce(loss, group, distributed::Reduce::Average).item<double>());
    if (rank == 0 && (step == 0 || (step + 1) % std::max(1, steps / 10) == 0))
      std::printf("step %5d   loss over %d processes %.4g\n", step + 1, kProcesses, losses.back());
  }
  Tensor sum = torch::zeros({});
  for (const auto& parameter : net->parameters()) sum = sum + parameter.detach().sum();
  const bool same = is_same_everywhere(sum, group);
  if (rank == 0) std::printf("the parameters of all processes are %s\n", same ? "equal" : "NOT equal");
  return same && losses.back() < losses.front() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const int steps = example::steps(argc, argv, 200);
  if (const char* rank = std::getenv("GPT_RANK"); rank != nullptr)
    return train(std::atoi(rank), std::getenv("GPT_MEETING"), steps);
  if (!distributed::available()) {
    std::printf("this LibTorch was built without c10d and Gloo\n");
    return 0;
  }
  const auto meeting =
      (std::filesystem::temp_directory_path() / ("distributed_gpt_" + std::to_string(::getpid()))).string();
  ::setenv("GPT_MEETING", meeting.c_str(), 1);
  std::vector<pid_t> processes;
  for (int rank = 0; rank < kProcesses; ++rank) {
    ::setenv("GPT_RANK", std::to_string(rank).c_str(), 1);
    processes.push_back(::fork());
    if (processes.back() == 0) {
      ::execv("/proc/self/exe", argv);
      ::_exit(127);
    }
  }
  bool all_well = true;
  for (const auto process : processes) {
    int status = 0;
    ::waitpid(process, &status, 0);
    all_well = all_well && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  std::filesystem::remove(meeting);
  return all_well ? 0 : 1;
}
