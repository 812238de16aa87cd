// The backward pass owns what only it reads, and reuses that memory for gradients while it computes them.
#include "support/counting_allocator.h"
#include "support/training_like_eager.h"

namespace antegrad::test {
namespace {

using at::Tensor;

constexpr int64_t kElements = 1 << 16;
constexpr int64_t kBlock = kElements * static_cast<int64_t>(sizeof(float));
constexpr int kLeaves = 12;

/// Returns how many blocks a backward pass needs beyond those that were live before it.
template <class Run>
double blocks_needed(const Run& run) {
  auto& allocator = test::CountingAllocator::installed();
  allocator.restart_peak();
  const auto before = allocator.live_bytes();
  run();
  return static_cast<double>(allocator.peak_bytes() - before) / static_cast<double>(kBlock);
}

/// One saved result and one gradient per leaf.
auto exponentials() {
  return [](const Tensors& leaves) {
    auto sum = torch::zeros({});
    for (const auto& leaf : leaves) sum = sum + leaf.exp().sum();
    return sum;
  };
}

Tensors many_leaves() {
  Tensors leaves;
  for (int i = 0; i < kLeaves; ++i) leaves.push_back(leaf({kElements}));
  return leaves;
}

Options saving_all() {
  Options options;
  options.policy = SaveAll{};
  return options;
}

TEST(BackwardMemory, SavedResultsGiveWayToGradients) {  // PAR-15
  test::CountingAllocator::installed();
  auto compiled = compile(exponentials(), saving_all());
  const auto leaves = many_leaves();
  auto first = compiled(leaves);
  EXPECT_GE(blocks_needed([&] { first.backward({}, /*retain_graph=*/true); }), kLeaves);  // PAR-18
  first = Tensor();
  for (const auto& leaf : leaves) leaf.mutable_grad() = Tensor();
  auto second = compiled(leaves);
  EXPECT_LE(blocks_needed([&] { second.backward(); }), 4);
}

TEST(BackwardMemory, InputsStay) {  // PAR-16, PAR-17
  test::CountingAllocator::installed();
  auto function = [](const Tensor& a, const Tensor& whole) { return (a * whole.view({-1})).sum(); };
  auto compiled = compile(function, saving_all());
  auto a = leaf({kElements});
  auto activation = leaf({kElements}) * 2;
  const auto contents = activation.detach().clone();
  auto out = compiled(a, activation.view({-1, 2}));
  out.backward();
  EXPECT_TRUE(activation.detach().equal(contents));
  EXPECT_TRUE(a.grad().equal(contents));
  EXPECT_NE(a.grad().data_ptr(), activation.data_ptr());
}

TEST(BackwardMemory, NothingIsLeft) {
  auto& allocator = test::CountingAllocator::installed();
  auto compiled = compile(exponentials(), saving_all());
  const auto leaves = many_leaves();
  compiled(leaves).backward();
  const auto before = allocator.live_bytes();
  for (int step = 0; step < 3; ++step) {
    auto out = compiled(leaves);
    if (step != 1) out.backward();
  }
  EXPECT_EQ(allocator.live_bytes(), before);
}

}  // namespace
}  // namespace antegrad::test
