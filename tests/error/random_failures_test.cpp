// Failures at any point: user code throws at a random op during capture, or memory runs out in a call or in a
// backward pass. Afterwards the inputs are unchanged, nothing is leaked, and the next call gives eager's
// result.
#include "error/expect_error.h"
#include "runtime/memory_pool.h"
#include "support/counting_allocator.h"
#include "support/seeds.h"

namespace antegrad::test {
namespace {

using at::Tensor;
using test::CountingAllocator;

/// Not derived from std::exception.
struct Stop {};

/// Throws at one of the places that call it.
struct Trap {
  int left = -1;  ///< places to pass before throwing; negative: never throws
  bool standard = false;
  void place() {
    if (left < 0 || left-- > 0) return;
    if (standard) throw std::runtime_error("a user's");
    throw Stop{};
  }
};

Trap backward_trap;

struct Cube : torch::autograd::Function<Cube> {
  static Tensor forward(torch::autograd::AutogradContext* ctx, const Tensor& x) {
    ctx->save_for_backward({x});
    return x * x * x;
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx,
                                                 const torch::autograd::variable_list& grads) {
    const auto x = ctx->get_saved_variables()[0];
    backward_trap.place();
    auto gradient = grads[0] * 3;
    backward_trap.place();
    gradient = gradient * x;
    backward_trap.place();
    return {gradient * x};
  }
};

/// What a program works on: a leaf, an input and a captured tensor that it writes to.
struct World {
  Tensor leaf = torch::randn({6, 6}).requires_grad_();
  Tensor written = torch::randn({6, 6}), outside = torch::randn({6, 6});

  World copy() const {
    World other;
    other.leaf = leaf.detach().clone().requires_grad_();
    other.written = written.clone();
    other.outside = outside.clone();
    return other;
  }
  std::vector<Tensor> tensors() const { return {leaf, written, outside}; }
};

constexpr int kKinds = 8;

/// A program is a list of ops; it can be stopped before each of them.
Tensor run_ops(const std::vector<int>& ops, World& world, Trap& trap) {
  auto value = world.leaf * 1;
  for (const auto op : ops) {
    trap.place();
    switch (op) {
      case 0:
        value = at::mm(value, world.leaf).tanh();
        break;
      case 1:
        value = value.sin() + world.outside;
        break;
      case 2:
        value = (value * 1).mul_(0.5);
        break;
      case 3:
        value = value * 1;
        value.select(0, 1).add_(1);
        break;
      case 4:
        world.written.add_(value.detach());
        break;
      case 5:
        world.outside.narrow(1, 0, 2).mul_(0.5);
        break;
      case 6:
        value = Cube::apply(value.tanh());
        break;
      default:
        value = at::softmax(value, 1) + at::cat({value.slice(0, 3), world.written.slice(0, 0, 3)});
        break;
    }
  }
  trap.place();
  return value.sum();
}

std::vector<int> random_ops(int seed) {
  std::srand(static_cast<unsigned>(seed));
  std::vector<int> ops(8);
  for (auto& op : ops) op = std::rand() % kKinds;
  return ops;
}

/// A function over a world, eager or compiled.
struct Case {
  explicit Case(int seed, Backend backend = Backend::Default) : ops(random_ops(seed)) {
    test::manual_seed(seed);
    world = World();
    Options options;
    options.backend = backend;
    options.cache = Cache::Off;
    compiled.emplace(compile(std::function([this](const Tensor& leaf, const Tensor& written) {
                               World inside{leaf, written, world.outside};
                               return run_ops(ops, inside, trap);
                             }),
                             options));
  }
  Tensor call() { return (*compiled)(world.leaf, world.written); }

  /// Runs a whole step and compares its effects with eager's.
  void expect_works() {
    auto expected = world.copy();
    Trap none;
    run_ops(ops, expected, none).backward();
    world.leaf.mutable_grad() = Tensor();
    call().backward();
    EXPECT_TRUE(at::allclose(world.leaf.grad(), expected.leaf.grad(), 1e-4, 1e-5));
    for (size_t i = 0; i < 3; ++i)
      EXPECT_TRUE(at::allclose(world.tensors()[i], expected.tensors()[i], 1e-4, 1e-5)) << i;
    world.leaf.mutable_grad() = Tensor();
  }

  std::vector<int> ops;
  World world;
  Trap trap;
  std::optional<Compiled<std::function<Tensor(const Tensor&, const Tensor&)>>> compiled;
};

/// Returns the numbers of references to the tensors of a world, weak ones included.
std::vector<size_t> references(const World& world) {
  std::vector<size_t> counts;
  for (const auto& tensor : world.tensors()) {
    counts.push_back(tensor.use_count());
    counts.push_back(tensor.weak_use_count());
    counts.push_back(tensor.storage().use_count());
  }
  return counts;
}

TEST(RandomFailures, OfTheUserWhileCapturing) {  // ERR-25
  for (int seed = 0; seed < 6; ++seed)
    for (int place = seed % 3; place <= 8; place += 3) {
      SCOPED_TRACE(::testing::Message() << "seed " << seed << ", place " << place);
      Case one(seed, seed % 2 == 0 ? Backend::Default : Backend::Eager);
      const Surroundings surroundings(one.world.tensors());
      const auto before = references(one.world);
      one.trap = {place, seed % 4 < 2};
      EXPECT_ANY_THROW(one.call());
      surroundings.expect_unchanged();
      EXPECT_EQ(references(one.world), before);
      one.expect_works();
      EXPECT_EQ((*one.compiled).report().captures, 1U);
    }
}

/// Programs with a custom function, whose backward pass runs during capture.
TEST(RandomFailures, OfACustomBackwardWhileCapturing) {
  for (int seed = 0; seed < 6; ++seed) {
    SCOPED_TRACE(seed);
    Case one(seed);
    one.ops.push_back(6);
    const Surroundings surroundings(one.world.tensors());
    const auto before = references(one.world);
    backward_trap = {seed % 3, false};  // not a std::exception, so the capture fails
    EXPECT_THROW(one.call(), Stop);
    surroundings.expect_unchanged();
    EXPECT_EQ(references(one.world), before);
    EXPECT_EQ(backward_trap.left, -1);
    one.expect_works();
  }
}

/// An exception that passes through autograd is reported only if it is thrown again.
TEST(RandomFailures, OfACustomBackwardOnce) {
  Case one(1);
  one.ops = {0, 6, 1};
  backward_trap = {2, true};
  auto loss = one.call();
  EXPECT_EQ(backward_trap.left, -1);
  loss.backward();
  one.expect_works();
}

/// Runs with all allocations from the n-th on failing, for every n until nothing fails. `after` gets what was
/// thrown. Returns the number of allocations.
template <class Prepare, class Run, class After>
int fail_everywhere(const Prepare& prepare, const Run& run, const After& after) {
  auto& allocator = CountingAllocator::installed();
  for (int n = 0; n < 2000; ++n) {
    prepare();
    runtime::memory_pool::clear();
    std::string thrown;
    allocator.fail_after(n);
    try {
      run();
    } catch (const std::exception& error) {
      thrown = error.what();
    }
    const bool failed = allocator.failed();
    allocator.fail_after(-1);
    if (!failed) return n;
    after(n, thrown);
  }
  ADD_FAILURE() << "it never ran through";
  return 0;
}

void nothing() {}

void expect_out_of_memory(const std::string& thrown) {
  EXPECT_NE(thrown.find("can't allocate memory"), std::string::npos) << thrown;
}

TEST(RandomFailures, OfMemoryInACall) {
  CountingAllocator::installed();
  for (int seed = 0; seed < 4; ++seed) {
    Case one(seed, seed % 2 == 0 ? Backend::Default : Backend::Eager);
    one.expect_works();
    const auto start = one.world.copy();
    const auto before = references(one.world);
    const int places = fail_everywhere(
        nothing, [&] { one.call(); },
        [&](int n, const std::string& thrown) {
          SCOPED_TRACE(::testing::Message() << "seed " << seed << ", allocation " << n);
          expect_out_of_memory(thrown);
          for (size_t i = 0; i < 3; ++i)
            EXPECT_TRUE(at::equal(one.world.tensors()[i], start.tensors()[i])) << i;
          EXPECT_EQ(references(one.world), before);
        });
    EXPECT_GT(places, 0);
    one.expect_works();
  }
}

TEST(RandomFailures, OfMemoryInABackwardPass) {
  CountingAllocator::installed();
  for (int seed = 0; seed < 4; ++seed) {
    Case one(seed, seed % 2 == 0 ? Backend::Default : Backend::Eager);
    one.expect_works();
    const auto before = references(one.world);
    auto loss = one.call();
    const int places = fail_everywhere(
        nothing, [&] { loss.backward({}, /*retain_graph=*/true); },
        [&](int n, const std::string& thrown) {
          SCOPED_TRACE(::testing::Message() << "seed " << seed << ", allocation " << n);
          expect_out_of_memory(thrown);
          EXPECT_FALSE(one.world.leaf.grad().defined());
        });
    EXPECT_GT(places, 0);
    one.world.leaf.mutable_grad() = Tensor();
    loss = Tensor();
    EXPECT_EQ(references(one.world), before);
    one.expect_works();
  }
}

TEST(RandomFailures, OfMemoryWhileCapturing) {
  CountingAllocator::installed();
  for (int seed = 0; seed < 2; ++seed) {
    std::unique_ptr<Case> one;
    fail_everywhere([&] { one = std::make_unique<Case>(seed); }, [&] { one->call(); },
                    [&](int n, const std::string& thrown) {  // the failure is not remembered for later calls
                      SCOPED_TRACE(::testing::Message() << "seed " << seed << ", allocation " << n);
                      expect_out_of_memory(thrown);
                      one->expect_works();
                    });
  }
}

TEST(RandomFailures, KeepNothing) {
  auto& allocator = CountingAllocator::installed();
  Case one(3);
  one.expect_works();
  int64_t blocks = 0;
  for (int round = 0; round < 5; ++round) {
    fail_everywhere(
        nothing, [&] { one.call(); }, [](int, const std::string&) {});
    one.expect_works();
    runtime::memory_pool::clear();
    if (round == 0) blocks = allocator.live_blocks();
    EXPECT_EQ(allocator.live_blocks(), blocks) << "round " << round;
  }
}

}  // namespace
}  // namespace antegrad::test
