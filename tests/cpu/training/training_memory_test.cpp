// Training leaves no memory behind: neither steps nor compiled functions leak.
#include <unistd.h>

#include <fstream>

#include "support/counting_allocator.h"
#include "support/training.h"

namespace antegrad::test {
namespace {

using at::Tensor;
namespace nn = torch::nn;
namespace F = torch::nn::functional;

int64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  int64_t pages = 0, resident = 0;
  statm >> pages >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

// --- programs

class WithDropout : public TrainingProgram {
 public:
  using TrainingProgram::TrainingProgram;
  Losses step() {
    auto x = torch::randn({64, 32});
    return minimise(optimizer_, loss_(x, x.slice(1, 0, 4)));
  }

 protected:
  nn::Sequential net_ = net(nn::Sequential(nn::Linear(32, 64), nn::BatchNorm1d(64), nn::GELU(),
                                           nn::Dropout(0.1), nn::Linear(64, 4)));
  std::function<Tensor(Tensor, Tensor)> loss_ = function<Tensor, Tensor>(
      [this](const Tensor& x, const Tensor& y) { return F::mse_loss(net_->forward(x), y); });
  torch::optim::Adam optimizer_{net_->parameters(), torch::optim::AdamOptions(1e-3)};
};

/// The backward pass needs the output, which the node that made it saves.
class SavesItsOutput : public TrainingProgram {
 public:
  using TrainingProgram::TrainingProgram;
  Losses step() { return minimise(optimizer_, forward_(torch::randn({64, 32})).pow(2).sum()); }

 private:
  nn::Sequential net_ = net(nn::Sequential(nn::Linear(32, 32), nn::Sigmoid()));
  std::function<Tensor(Tensor)> forward_ = forward<Tensor>(net_);
  torch::optim::SGD optimizer_{net_->parameters(), 1e-3};
};

/// Graphs whose backward pass never runs, and one that is retained and run twice.
class Abandoned : public WithDropout {
 public:
  using WithDropout::WithDropout;
  Losses step() {
    auto x = torch::randn({64, 32});
    auto abandoned = loss_(x, x.slice(1, 0, 4));
    auto kept = loss_(x, x.slice(1, 0, 4));
    kept.backward({}, /*keep_graph=*/true);
    return minimise(optimizer_, kept);
  }
};

class Forces : public TrainingProgram {
 public:
  using TrainingProgram::TrainingProgram;
  Losses step() {
    auto positions = torch::randn({64, 3}).requires_grad_();
    auto energy = energy_(positions);
    auto forces = torch::autograd::grad({energy}, {positions}, {}, /*retain_graph=*/true,
                                        /*create_graph=*/true)[0];
    return minimise(optimizer_, forces.pow(2).mean() + energy.pow(2));
  }

 private:
  nn::Sequential net_ = net(nn::Sequential(nn::Linear(3, 64), nn::Tanh(), nn::Linear(64, 1)));
  std::function<Tensor(Tensor)> energy_ =
      function<Tensor>([this](const Tensor& x) { return net_->forward(x).sum(); });
  torch::optim::Adam optimizer_{net_->parameters(), torch::optim::AdamOptions(1e-3)};
};

template <class Program>
class TrainingMemory : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    at::set_num_threads(1);
    CountingAllocator::installed();
  }
};
using Programs = ::testing::Types<WithDropout, SavesItsOutput, Abandoned, Forces>;

struct ProgramNames {
  template <class Program>
  static std::string GetName(int) {
    if (std::is_same_v<Program, WithDropout>) return "Dropout";
    if (std::is_same_v<Program, SavesItsOutput>) return "SavedOutput";
    return std::is_same_v<Program, Abandoned> ? "AbandonedGraphs" : "Forces";
  }
};
TYPED_TEST_SUITE(TrainingMemory, Programs, ProgramNames);

// --- what must hold

TYPED_TEST(TrainingMemory, StaysFlatOverAThousandSteps) {
  constexpr int kWarmUp = 200, kSteps = 1000;
  auto program = seeded_program<TypeParam>(Way::Compiled);
  const auto& memory = CountingAllocator::installed();
  for (int step = 0; step < kWarmUp; ++step) seeded_step(*program, step);
  const auto tensors = memory.live_bytes(), blocks = memory.live_blocks(), resident = resident_bytes();
  for (int step = 0; step < kSteps; ++step) seeded_step(*program, step);
  EXPECT_EQ(memory.live_bytes(), tensors);
  EXPECT_EQ(memory.live_blocks(), blocks);
#ifndef __SANITIZE_ADDRESS__  // which keeps freed memory for a while
  EXPECT_LT(resident_bytes() - resident, 8 << 20);
#endif
}

/// Observes whether tensors are alive without keeping them alive.
class Obituary {
 public:
  void add(const std::vector<Tensor>& tensors) {
    for (const auto& tensor : tensors)
      if (tensor.defined()) watched_.emplace_back(tensor.getIntrusivePtr());
  }
  size_t alive() const {
    return static_cast<size_t>(
        std::count_if(watched_.begin(), watched_.end(), [](const auto& weak) { return !weak.expired(); }));
  }

 private:
  std::vector<c10::weak_intrusive_ptr<c10::TensorImpl>> watched_;
};

TYPED_TEST(TrainingMemory, EndsWithTheProgram) {
  const auto& memory = CountingAllocator::installed();
  auto train = [&] {
    Obituary obituary;
    auto program = seeded_program<TypeParam>(Way::Compiled);
    for (int step = 0; step < 3; ++step) obituary.add(seeded_step(*program, step));
    obituary.add(program->parameters());
    obituary.add(program->buffers());
    obituary.add(program->gradients());
    program.reset();
    EXPECT_EQ(obituary.alive(), 0u);
  };
  train();  // LibTorch and antegrad may create tensors once per process
  const auto bytes = memory.live_bytes();
  train();
  EXPECT_EQ(memory.live_bytes(), bytes);
}

TEST(TrainingLifetimes, ResultsOutliveTheFunctionAndThenFreeEverything) {
  Obituary obituary;
  Tensor loss, weight;
  {
    nn::Linear net(8, 4);
    auto x = torch::randn({2, 8});
    weight = net->weight;
    loss = compile(net)(x).sigmoid().sum();
    obituary.add({x, net->weight, net->bias});
  }
  loss.backward();  // function and module are gone
  EXPECT_TRUE(weight.grad().defined());
  weight = loss = Tensor();
  EXPECT_EQ(obituary.alive(), 0u);
}

TEST(TrainingLifetimes, BackwardFreesWhatItSaved) {
  const auto& memory = CountingAllocator::installed();
  nn::Sequential net(nn::Linear(64, 64), nn::Tanh(), nn::Linear(64, 64), nn::Tanh());
  auto compiled = compile(net);
  auto x = torch::randn({128, 64});
  auto step = [&] {
    net->zero_grad();
    auto out = compiled(x).sum();
    const auto with_graph = memory.live_bytes();
    out.backward();
    const auto gradients = static_cast<int64_t>(2 * (64 * 64 + 64) * sizeof(float));
    // `out` is still alive, but what its graph saved is not: at least one activation.
    EXPECT_LE(memory.live_bytes() - gradients, with_graph - static_cast<int64_t>(x.nbytes()));
  };
  for (int i = 0; i < 3; ++i) step();
}

TEST(TrainingLifetimes, SavedInputsEndWithTheGraph) {
  nn::Linear net(8, 4);
  auto compiled = compile(net);
  Obituary obituary;
  for (int call = 0; call < 3; ++call) {
    auto x = torch::randn({2, 8});
    auto loss = compiled(x).sum();
    obituary.add({x, loss});
    if (call == 1) loss.backward();
    if (call == 2) torch::autograd::grad({loss}, {net->weight}, {}, true, /*create_graph=*/true);
  }
  EXPECT_EQ(obituary.alive(), 0u);  // while the function lives on
}

}  // namespace
}  // namespace antegrad::test
