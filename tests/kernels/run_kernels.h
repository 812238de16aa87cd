#pragma once
// Compiles kernels for an instruction set, runs them and compares their results with the interpreter's.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <deque>

#include "codegen/cpu/kernel_source.h"
#include "kernels/interpreter.h"
#include "toolchain/module.h"
#include "toolchain/toolchain.h"

namespace antegrad::schedule {

/// A kernel and its arguments.
struct Case {
  Kernel kernel;
  std::vector<Memory> memory;  ///< one entry per buffer
  std::vector<int64_t> dims;
  std::vector<std::pair<int32_t, int32_t>> in_place;  ///< pairs of an input and an output that share memory
  double tolerance = 1e-5;                            ///< for f32, relative to the largest number of a buffer
};

/// Fills the buffers with random numbers.
inline Case make_case(Kernel kernel, std::mt19937_64& random, std::vector<int64_t> dims = {}) {
  Case out{std::move(kernel), {}, std::move(dims), {}};
  for (const auto& buffer : out.kernel.buffers) {
    const auto elements =
        buffer.elements.evaluate([&](int32_t symbol) { return out.dims[static_cast<size_t>(symbol)]; });
    out.memory.push_back(random_memory(buffer.dtype, elements, random));
  }
  return out;
}

using Function = int64_t (*)(void* const*, const int64_t*, int64_t, int64_t);

/// Bytes between margins that nothing may write to.
class Bytes {
 public:
  Bytes(ir::DType dtype, const Memory& memory)
      : dtype_(dtype),
        size_(static_cast<size_t>(ir::size_in_bytes(dtype))),
        bytes_(memory.size() * size_ + 128, 0xa5) {
    for (size_t i = 0; i < memory.size(); ++i) put(dtype, data() + i * size_, memory[i]);
  }
  uint8_t* data() { return bytes_.data() + 64; }
  Memory numbers() {
    Memory out;
    for (size_t at = 64; at + 64 < bytes_.size(); at += size_) out.push_back(get(dtype_, bytes_.data() + at));
    return out;
  }
  bool margins_are_whole() const {
    for (size_t i = 0; i < 64; ++i)
      if (bytes_[i] != 0xa5 || bytes_[bytes_.size() - 1 - i] != 0xa5) return false;
    return true;
  }

 private:
  ir::DType dtype_;
  size_t size_;
  std::vector<uint8_t> bytes_;
};

inline bool computes_in_float(const Kernel& kernel) {
  for (const auto& section : kernel.sections)
    for (const auto& op : section.ops)
      if (op.result >= 0 && compute_type(op.dtype) == ir::DType::F32) return true;
  return false;
}

inline double tolerance(const Case& test, ir::DType dtype) {
  switch (dtype) {
    case ir::DType::F64:
      return computes_in_float(test.kernel) ? test.tolerance : std::min(test.tolerance, 1e-11);
    case ir::DType::BF16:
      return 0x1p-7;
    case ir::DType::F16:
      return 0x1p-9;
    default:
      return test.tolerance;
  }
}

/// `describe` returns a text for failures.
inline void compare(const Case& test, size_t buffer, const Memory& actual, const Memory& expected,
                    const std::function<std::string()>& describe) {
  const auto dtype = test.kernel.buffers[buffer].dtype;
  const bool floating = ir::is_floating(dtype);
  double largest = 1e-3;  // a result of cancellation is no more exact than its terms
  for (const auto& number : expected)
    if (std::isfinite(number.f)) largest = std::max(largest, std::fabs(number.f));
  for (size_t i = 0; i < expected.size(); ++i) {
    const auto want = expected[i], got = actual[i];
    const bool same = !floating            ? want.i == got.i
                      : std::isnan(want.f) ? std::isnan(got.f)
                      : !std::isfinite(want.f)
                          ? want.f == got.f
                          : std::fabs(want.f - got.f) <= largest * tolerance(test, dtype);
    if (!same) {
      ADD_FAILURE() << fmt::format("b{}[{}]: {} instead of {}\n", buffer, i, floating ? got.f : double(got.i),
                                   floating ? want.f : double(want.i))
                    << describe();
      return;
    }
  }
}

/// Runs the units in `pieces` calls, the last units first.
inline void check(const Case& test, Function function, const Meanings& meanings, int pieces = 3) {
  auto expected = test.memory;
  for (const auto& [input, output] : test.in_place)
    expected[static_cast<size_t>(output)] = expected[static_cast<size_t>(input)];
  auto initial = expected;
  Interpreter interpreter(test.kernel, meanings, expected, test.dims);
  const bool good = interpreter.run();

  std::vector<Bytes> bytes;
  for (size_t i = 0; i < initial.size(); ++i) bytes.emplace_back(test.kernel.buffers[i].dtype, initial[i]);
  std::vector<uint8_t*> places;
  for (auto& one : bytes) places.push_back(one.data());
  for (const auto& [input, output] : test.in_place)
    places[static_cast<size_t>(input)] = places[static_cast<size_t>(output)];
  std::vector<void*> passed;
  for (size_t i = 0; i < places.size(); ++i)
    if (test.kernel.buffers[i].kind != Buffer::Kind::Scratch) passed.push_back(places[i]);

  const auto count = interpreter.value(units(test.kernel));
  int64_t bad = 0;
  for (int piece = pieces; piece-- > 0;)
    bad |= function(passed.data(), test.dims.data(), count * piece / pieces, count * (piece + 1) / pieces);
  EXPECT_EQ(bad == 0, good) << to_string(test.kernel);
  for (size_t i = 0; i < bytes.size(); ++i) {
    EXPECT_TRUE(bytes[i].margins_are_whole()) << "b" << i << "\n" << to_string(test.kernel);
    if (good && test.kernel.buffers[i].kind == Buffer::Kind::Output)
      compare(test, i, bytes[i].numbers(), expected[i],
              [&] { return to_string(test.kernel) + codegen::cpu::kernel_source(test.kernel); });
  }
}

/// Compiles all kernels as one unit and checks each. Makes their names unique.
inline void check_all(std::deque<Case> cases, const Meanings& meanings, const toolchain::Toolchain& toolchain,
                      toolchain::Isa isa) {
  std::vector<const Kernel*> kernels;
  for (size_t i = 0; i < cases.size(); ++i) {
    cases[i].kernel.name += fmt::format("_{}", i);
    kernels.push_back(&cases[i].kernel);
  }
  const auto module = toolchain::Module::load(toolchain.compile(codegen::cpu::unit_source(kernels), isa));
  for (const auto& test : cases) {
    auto* symbol = module->find(test.kernel.name);
    ASSERT_NE(symbol, nullptr) << test.kernel.name;
    for (const int pieces : {1, 3}) check(test, reinterpret_cast<Function>(symbol), meanings, pieces);
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace antegrad::schedule
