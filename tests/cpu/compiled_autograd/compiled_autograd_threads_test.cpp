#include <atomic>
#include <thread>

#include "cpu/compiled_autograd/compiled_autograd_fixture.h"

namespace antegrad::test {
namespace {

class CompiledAutogradThreadsTest : public CompiledAutogradTest {};

TEST_F(CompiledAutogradThreadsTest, RunSegmentsAtTheSameTime) {
  const CompiledAutograd first;  // the engine is switched while no thread runs a backward pass
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      const CompiledAutograd on(t != 0);
      for (int i = 0; i < 20; ++i) {
        const auto x = leaf({4});
        (x.exp() * x).sum().backward();
        const auto expected = x.detach().exp() * (x.detach() + 1);
        right += at::allclose(x.grad(), expected, 1e-5, 1e-6) ? 1 : 0;
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(right, 80);
}

// A pass that begins while another thread's begins: LibTorch's engine takes it for one inside the other.
TEST_F(CompiledAutogradThreadsTest, BeginPassesAtTheSameTime) {
  const CompiledAutograd first;
  std::vector<std::thread> threads;
  std::atomic<int> done = 0;
  std::atomic<int> refused = 0;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      const CompiledAutograd on(t % 4 == 0);
      const auto x = leaf({4});
      for (int i = 0; i < 500; ++i) {
        try {
          x.sum().backward();
          EXPECT_THROW(torch::autograd::backward({x.detach()}), c10::Error);  // before the pass begins
          ++done;
        } catch (const std::exception&) {
          ++refused;
        }
      }
      EXPECT_TRUE(x.grad().equal(torch::full({4}, 500.0)));
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(done, 4000);
  EXPECT_EQ(refused, 0);
}

}  // namespace
}  // namespace antegrad::test
