// Programs of kernels and extern calls: memory, threads, errors, comparison. More about memory is in
// program_memory_test.cpp.
#include "cpu/backend/backend_programs.h"
#include "support/closeness.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <atomic>
#include <set>

#include "antegrad/error.h"
#include "runtime/memory_pool.h"
#include "runtime/plan/placement.h"

namespace antegrad::test {
namespace {

using at::Tensor;
namespace pool = runtime::memory_pool;

constexpr int64_t kMany = 1 << 20;

const char* const kChain = R"(graph @f functional {
  in %0: f32[1048576] user
  %1: f32[1048576] = aten.add.Tensor(%0, %0)
  %2: f32[1048576] = aten.add.Tensor(%1, %0)
  %3: f32[1048576] = aten.add.Tensor(%2, %1)
  out %3 user
})";

HandMade chain() {
  HandMade made(kChain);
  const auto k = made.kernel(flat_kernel("add", 2, kMany), add);
  made.run_kernel(k, {0, 0, 1}, kMany, 4096).run_kernel(k, {1, 0, 2}, kMany, 4096);
  made.run_kernel(k, {2, 1, 3}, kMany, 4096);
  return made;
}

TEST(Programs, KernelsRunInOrderOnPlannedMemory) {
  const auto executable = chain().executable();
  EXPECT_EQ(executable.arena_bytes(), 0);  // large values have memory of their own
  const auto x = torch::randn({kMany});
  EXPECT_TRUE(at::equal(run(executable, {x})[0], x + x + x + (x + x)));
}

TEST(Programs, MemoryIsUsedAgain) {
  const auto executable = chain().executable();
  const auto x = torch::randn({kMany});
  run(executable, {x});
  const auto before = pool::statistics();
  for (int i = 0; i < 5; ++i) run(executable, {x});
  const auto after = pool::statistics();
  EXPECT_EQ(after.fresh, before.fresh);
  EXPECT_EQ(after.reused, before.reused + 10);  // %1 and %2; the result takes over the memory of %2
  EXPECT_EQ(after.used, before.used);
}

TEST(Programs, ResultsHaveMemoryOfTheirOwn) {
  const auto executable = chain().executable();
  const auto x = torch::randn({kMany});
  const auto first = run(executable, {x})[0];
  const auto kept = first.clone();
  const auto second = run(executable, {x * 2})[0];
  EXPECT_FALSE(first.is_alias_of(second));
  EXPECT_TRUE(at::equal(first, kept));
  EXPECT_EQ(first.storage().nbytes(), static_cast<size_t>(kMany) * 4);
}

TEST(Programs, LastReadsAreOverwritten) {
  HandMade made(R"(graph @f functional {
  in %0: f32[1000] user
  %1: f32[1000] = aten.add.Tensor(%0, %0)
  %2: f32[1000] = aten.mul.Scalar(%1, 2)
  %3: f32[1000] = aten.mul.Scalar(%2, 2)
  out %3 user
})");
  const auto add_kernel = made.kernel(flat_kernel("add", 2, 1000), add);
  const auto twice_kernel = made.kernel(flat_kernel("twice", 1, 1000), twice);
  made.run_kernel(add_kernel, {0, 0, 1}, 1000, 1000).run_kernel(twice_kernel, {1, 2}, 1000, 1000);
  made.run_kernel(twice_kernel, {2, 3}, 1000, 1000);
  const auto executable = made.executable();
  EXPECT_EQ(executable.arena_bytes(), 4032);  // %2 reuses the memory of %1
  const auto x = torch::randn({1000});
  EXPECT_TRUE(at::equal(run(executable, {x})[0], x * 8));
}

HandMade doubled_input() {
  HandMade made(
      "graph @f functional { in %0: f32[1000] user %1: f32[1000] = aten.mul.Scalar(%0, 2) out %1 user }");
  const auto k = made.kernel(flat_kernel("twice", 1, 1000), twice);
  made.run_kernel(k, {0, 1}, 1000, 1000);
  return made;
}

TEST(Programs, InputsAreHandedOverOnlyByTheirOwner) {
  const auto executable = doubled_input().executable();
  auto x = torch::randn({1000});
  const auto before = x.clone();
  Tensors shared{x}, outputs;
  executable.run(std::move(shared), outputs);
  EXPECT_NE(outputs[0].data_ptr(), x.data_ptr());
  EXPECT_TRUE(at::equal(x, before));
  const void* memory = x.data_ptr();
  Tensors owned;
  owned.push_back(std::move(x));
  outputs.clear();
  executable.run(std::move(owned), outputs);
  EXPECT_EQ(outputs[0].data_ptr(), memory);
  EXPECT_TRUE(at::equal(outputs[0], before * 2));
}

TEST(Programs, ProductsAreWrittenIntoTheArena) {
  HandMade made(R"(graph @f functional {
  in %0: f32[32,32] user
  %1: f32[32,32] = aten.add.Tensor(%0, %0)
  %2: f32[32,32] = aten.mm(%1, %0)
  %3: f32[32,32]{1,32} &%2 = aten.t(%2)
  %4: f32[32,32] = aten.addmm(%0, %3, %1, beta=2, alpha=3)
  %5: f32[32,32] = aten.mul.Scalar(%4, 2)
  out %5 user
})");
  const auto add_kernel = made.kernel(flat_kernel("add", 2, 1024), add);
  const auto twice_kernel = made.kernel(flat_kernel("twice", 1, 1024), twice);
  made.run_kernel(add_kernel, {0, 0, 1}, 1024, 1024).run_node(1).run_node(2).run_node(3);
  made.run_kernel(twice_kernel, {4, 5}, 1024, 1024);
  const auto executable = made.executable();
  EXPECT_EQ(executable.arena_bytes(), 3 * 4096);
  const auto x = torch::randn({32, 32});
  const auto y = x + x;
  EXPECT_TRUE(at::equal(run(executable, {x})[0], at::addmm(x, at::mm(y, x).t(), y, 2, 3) * 2));
}

TEST(Programs, ArgumentsThatLibTorchReturnsAreCopiedOutOfTheArena) {
  HandMade made(R"(graph @f functional {
  in %0: f32[1000] user
  %1: f32[1000] = aten.add.Tensor(%0, %0)
  %2: f32[1000] = aten.conj_physical(%1)
  %3: f32[1000] = aten.mul.Scalar(%0, 2)
  %4: f32[1000] = aten.sin(%3)
  out %2 user
  out %4 user
})");
  const auto add_kernel = made.kernel(flat_kernel("add", 2, 1000), add);
  const auto twice_kernel = made.kernel(flat_kernel("twice", 1, 1000), twice);
  made.run_kernel(add_kernel, {0, 0, 1}, 1000, 1000).run_node(1);
  made.run_kernel(twice_kernel, {0, 3}, 1000, 1000).run_node(3);
  const auto x = torch::randn({1000});
  ASSERT_TRUE(at::conj_physical(x).is_same(x));
  const auto executable = made.executable();
  EXPECT_EQ(executable.arena_bytes(), 4032);  // %3 reuses the memory of %1, so %2 must not alias it
  const auto outputs = run(executable, {x.abs()});
  EXPECT_TRUE(at::equal(outputs[0], x.abs() * 2));
  EXPECT_TRUE(test::up_to_rounding((x.abs() * 2).sin(), outputs[1]));
  EXPECT_EQ(outputs[0].storage().nbytes(), 4000U);
}

std::atomic<int64_t> units_run{0};
std::mutex thread_mutex;
std::set<std::thread::id> threads;

int64_t count_units(void* const* b, const int64_t* d, int64_t begin, int64_t end) {
  units_run += end - begin;
  {
    std::scoped_lock lock(thread_mutex);
    threads.insert(std::this_thread::get_id());
  }
  return twice(b, d, begin, end);
}

TEST(Programs, UnitsAreSharedAmongThreads) {
  if (at::get_num_threads() < 2) GTEST_SKIP() << "one thread";
  HandMade made(
      "graph @f functional { in %0: f32[1048576] user %1: f32[1048576] = aten.mul.Scalar(%0, 2) out %1 user "
      "}");
  const auto k = made.kernel(flat_kernel("count", 1, kMany), count_units);
  made.run_kernel(k, {0, 1}, kMany, 1024);
  const auto x = torch::randn({kMany});
  EXPECT_TRUE(at::equal(run(made.executable(), {x})[0], x * 2));
  EXPECT_EQ(units_run, kMany);
  EXPECT_GE(threads.size(), 2U);
}

/// Takes elements of a table; negative indices are out of range.
int64_t take_rows(void* const* buffers, const int64_t*, int64_t begin, int64_t end) {
  const auto* index = static_cast<const int64_t*>(buffers[1]);
  int64_t bad = 0;
  for (int64_t i = begin; i < end; ++i) {
    bad |= index[i] < 0 || index[i] >= 4;
    if (bad == 0) static_cast<float*>(buffers[2])[i] = static_cast<const float*>(buffers[0])[index[i]];
  }
  return bad;
}

/// The kernel that take_rows() implements: three elements out of four, by index.
schedule::Kernel taking_three_of_four() {
  auto kernel = flat_kernel("take", 2, 3);
  kernel.buffers[1].dtype = ir::DType::I64;
  kernel.sections[0].ops[0].indirect.push_back({0, 1, 4, false});
  return kernel;
}

HandMade gather() {
  HandMade made(R"(graph @f functional {
  in %0: f32[4] user
  in %1: i64[3] user
  in %2: f32[3] user
  %3: f32[3] = aten.add.Tensor(%2, %2)
  %4: f32[3] = aten.index_select(%0, 0, %1)
  %5: f32[3] = aten.add.Tensor(%3, %4)
  out %5 user
})");
  const auto add_kernel = made.kernel(flat_kernel("add", 2, 3), add);
  const auto take_kernel = made.kernel(taking_three_of_four(), take_rows);
  made.run_kernel(add_kernel, {2, 2, 3}, 3, 3).run_kernel(take_kernel, {0, 1, 4}, 3, 3);
  made.run_kernel(add_kernel, {3, 4, 5}, 3, 3);
  return made;
}

TEST(Programs, BadIndicesGiveTheErrorOfEager) {
  const auto executable = gather().executable();
  const auto table = torch::randn({4});
  const auto x = torch::randn({3});
  const auto good = torch::tensor({3, 0, 1});
  EXPECT_TRUE(at::equal(run(executable, {table, good, x})[0], x + x + table.index_select(0, good)));
  const auto bad = torch::tensor({0, 4, 1});
  std::string expected;
  try {
    table.index_select(0, bad);
  } catch (const std::exception& error) {
    expected = error.what();
  }
  ASSERT_FALSE(expected.empty());
  const auto first_line = [](const std::string& text) { return text.substr(0, text.find('\n')); };
  try {
    Tensors owned{table.clone(), bad.clone(), x.clone()}, outputs;
    executable.run(std::move(owned), outputs);
    ADD_FAILURE() << "no error";
  } catch (const c10::Error& error) {
    EXPECT_EQ(first_line(error.what()), first_line(expected));
  }
}

TEST(Programs, OnlyWhatIndicesAreMadeFromIsKeptForErrors) {
  HandMade made(R"(graph @f functional {
  in %0: f32[4] user
  in %1: f32[3] user
  in %2: i64[3] user
  in %3: i64[3] user
  %4: f32[3] = aten.add.Tensor(%1, %1)
  %5: i64[3] = aten.add.Tensor(%2, %3)
  %6: f32[4] = aten.sin(%0)
  %7: f32[3] = aten.index_select(%6, 0, %5)
  %8: f32[3] = aten.add.Tensor(%4, %7)
  out %8 user
})");
  const auto add_kernel = made.kernel(flat_kernel("add", 2, 3), add);
  const auto take_kernel = made.kernel(taking_three_of_four(), take_rows);
  made.run_kernel(add_kernel, {1, 1, 4}, 3, 3).run_node(1).run_node(2);
  made.run_kernel(take_kernel, {6, 5, 7}, 3, 3).run_kernel(add_kernel, {4, 7, 8}, 3, 3);
  const auto placement = runtime::place(made.program);
  ASSERT_TRUE(placement.checks);
  EXPECT_EQ(placement.checks->inputs, (std::vector<int32_t>{2, 3, -1}));
  EXPECT_EQ(placement.checks->graph.nodes.size(), 2U);  // the sum of indices, and the selection
  EXPECT_EQ(placement.values[{0}].last_use, 2);
  EXPECT_EQ(placement.values[{1}].last_use, 0);
  EXPECT_EQ(placement.values[{2}].last_use, 3);
  const auto one = torch::ones({3}, at::kLong);
  EXPECT_THROW(run(made.executable(), {torch::randn({4}), torch::randn({3}), one, 3 * one}), c10::Error);
  const auto table = torch::randn({4}), x = torch::randn({3});
  EXPECT_TRUE(test::up_to_rounding(x + x + table.sin()[2], run(made.executable(), {table, x, one, one})[0]));
}

int64_t always_fails(void* const*, const int64_t*, int64_t, int64_t) { return 1; }

TEST(Programs, AFailureThatLibTorchDoesNotSeeIsADefect) {
  auto made = gather();
  made.code[1].function = always_fails;
  try {
    run(made.executable(), {torch::randn({4}), torch::tensor({3, 0, 1}), torch::randn({3})});
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Internal);
  }
}

int64_t off_by_a_thousandth(void* const* b, const int64_t* d, int64_t begin, int64_t end) {
  twice(b, d, begin, end);
  static_cast<float*>(b[1])[begin + 7] += 0.01f;
  return 0;
}

TEST(Programs, ComparisonNamesTheKernelThatDiffers) {
  HandMade made(R"(graph @f functional {
  in %0: f32[100] user
  %1: f32[100] = aten.mul.Scalar(%0, 2)
  %2: f32[100] = aten.mul.Scalar(%1, 2)
  %3: f32[100] = aten.add.Tensor(%2, %0)
  out %3 user
})");
  const auto right = made.kernel(flat_kernel("right", 1, 100), twice);
  const auto wrong = made.kernel(flat_kernel("wrong", 1, 100), twice);
  const auto last = made.kernel(flat_kernel("last", 2, 100), add);
  made.run_kernel(right, {0, 1}, 100, 100).run_kernel(wrong, {1, 2}, 100, 100);
  made.run_kernel(last, {2, 0, 3}, 100, 100);
  const auto x = torch::rand({100});
  EXPECT_TRUE(at::allclose(run(made.executable(true), {x})[0], x * 5));
  made.code[1].function = off_by_a_thousandth;
  EXPECT_NO_THROW(run(made.executable(), {x}));
  try {
    run(made.executable(true), {x});
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_EQ(error.code(), ErrorCode::Internal);
    EXPECT_EQ(text.rfind("[compare:wrong] output 0, element 7: the kernel gives ", 0), 0U) << text;
    EXPECT_NE(text.find("aten.mul.Scalar"), std::string::npos) << text;
    EXPECT_EQ(text.find("aten.add.Tensor"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace antegrad::test
