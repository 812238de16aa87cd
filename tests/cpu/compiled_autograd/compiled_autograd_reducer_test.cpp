// c10d::Reducer, which averages gradients over processes in hooks of the leaves, under compiled autograd.
// LibTorch's package lacks the headers of Gloo, so two processes exchange gradients over a pair of sockets.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <torch/torch.h>
#include <unistd.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/reducer.hpp>

#include <antegrad/antegrad.h>

#include "support/seeds.h"

namespace antegrad::test {
namespace {

using at::Tensor;

/// Sums over two processes: each writes its part, then reads that of the other.
class SocketBackend final : public c10d::Backend {
 public:
  SocketBackend(int rank, int socket) : Backend(rank, 2), socket_(socket) {}
  const std::string getBackendName() const override { return "socket"; }

  c10::intrusive_ptr<c10d::Work> allreduce(std::vector<Tensor>& tensors,
                                           const c10d::AllreduceOptions&) override {
    for (auto& tensor : tensors) {
      auto other = at::empty_like(tensor);
      const auto mine = tensor.contiguous();
      transfer(::write, mine.data_ptr(), mine.nbytes());
      transfer(::read, other.data_ptr(), other.nbytes());
      tensor.add_(other);
    }
    auto done = c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()));
    done->markCompleted(c10::IValue(tensors));
    return c10d::Work::create_from_future(done);
  }

 private:
  template <class Call>
  void transfer(const Call& call, void* data, size_t bytes) const {
    for (auto* at = static_cast<char*>(data); bytes > 0;) {
      const auto moved = call(socket_, at, bytes);
      TORCH_CHECK(moved > 0, "the other process is gone");
      at += moved;
      bytes -= static_cast<size_t>(moved);
    }
  }
  int socket_;
};

torch::nn::Sequential make_net() {
  test::manual_seed(5);
  return torch::nn::Sequential(torch::nn::Linear(6, 5), torch::nn::Tanh(), torch::nn::Linear(5, 2));
}

Tensor batch_of(int rank) { return torch::arange(24, at::kFloat).view({4, 6}) * 0.1 - rank; }

std::vector<Tensor> gradients_of(const torch::nn::Sequential& net) {
  std::vector<Tensor> out;
  for (const auto& parameter : net->parameters()) out.push_back(parameter.grad().clone());
  return out;
}

std::vector<Tensor> local_gradients(int rank) {
  auto net = make_net();
  net->forward(batch_of(rank)).pow(2).sum().backward();
  return gradients_of(net);
}

/// Runs two steps of one process. Returns whether its gradients are the mean over both processes.
bool run_process(int rank, int socket) {
  auto group = c10::make_intrusive<c10d::ProcessGroup>(rank, 2);
  group->setBackend(at::kCPU, c10d::ProcessGroup::BackendType::CUSTOM,
                    c10::make_intrusive<SocketBackend>(rank, socket));
  group->setDefaultBackend(c10d::ProcessGroup::BackendType::CUSTOM);
  auto net = make_net();
  const auto parameters = net->parameters();
  c10d::Reducer reducer(parameters, {{3, 2}, {1, 0}}, group, std::vector<bool>(parameters.size()), 1 << 20,
                        false, false, {}, 1 << 20, false, false, {});
  const auto mine = local_gradients(rank), other = local_gradients(1 - rank);
  const CompiledAutograd on;
  bool right = true;
  for (int step = 0; step < 2; ++step) {
    net->zero_grad();
    reducer.prepare_for_forward();
    const auto output = net->forward(batch_of(rank));
    reducer.prepare_for_backward({output});
    output.pow(2).sum().backward();
    const auto gradients = gradients_of(net);
    for (size_t i = 0; i < gradients.size(); ++i)
      right = right && at::allclose(gradients[i], (mine[i] + other[i]) / 2, 1e-5, 1e-6);
  }
  const auto stats = compiled_autograd::stats();
  if (stats.captures != 1) std::fprintf(stderr, "%d captures\n", static_cast<int>(stats.captures));
  return right && stats.eager == 0 && stats.captures == 1;
}

// CAU-36
TEST(CompiledAutogradReducer, GradientsOfTwoProcessesAreAveraged) {
  int sockets[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
  const auto child = ::fork();  // before LibTorch has started threads
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::close(sockets[0]);
    bool right = false;
    try {
      right = run_process(1, sockets[1]);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
    }
    ::_exit(right ? 0 : 1);
  }
  ::close(sockets[1]);
  EXPECT_TRUE(run_process(0, sockets[0]));
  ::close(sockets[0]);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace antegrad::test
