#pragma once
// Compares programs with symbols, compiled once, with the interpreted programs of the same graphs with
// constant sizes.
#include "codegen/cpu/kernel_source.h"
#include "kernels/run_kernels.h"
#include "kernels/run_program.h"
#include "schedule/substitute.h"

namespace antegrad::schedule {

/// A program with symbols and its compiled kernels.
class CompiledProgram {
 public:
  CompiledProgram(const ir::Graph& graph, const toolchain::Toolchain& toolchain, toolchain::Isa isa,
                  const Settings& settings = all_settings())
      : program_(schedule(graph, settings)) {
    std::vector<const Kernel*> kernels;
    for (const auto& kernel : program_.kernels) kernels.push_back(&kernel);
    if (kernels.empty()) return;
    module_ = toolchain::Module::load(toolchain.compile(codegen::cpu::unit_source(kernels), isa));
    for (const auto* kernel : kernels)
      functions_.push_back(reinterpret_cast<Function>(module_->find(kernel->name)));
  }
  const Program& program() const { return program_; }

  std::vector<Memory> run(const std::vector<int64_t>& values, const std::vector<Memory>& inputs) const {
    const auto instance = substitute(program_, values);
    return ProgramRun(instance, [&](size_t index, const std::vector<Memory*>& memory,
                                    int64_t units) { run_kernel(index, memory, units, values); })
        .run(inputs);
  }

 private:
  /// Runs the units in three calls, the last units first.
  void run_kernel(size_t index, const std::vector<Memory*>& memory, int64_t units,
                  const std::vector<int64_t>& values) const {
    const auto& kernel = program_.kernels[index];
    std::vector<Bytes> bytes;
    std::vector<void*> passed;
    for (const auto& buffer : kernel.buffers)
      if (buffer.kind != Buffer::Kind::Scratch) bytes.emplace_back(buffer.dtype, *memory[bytes.size()]);
    for (auto& one : bytes) passed.push_back(one.data());
    for (int64_t piece = 3; piece-- > 0;)
      EXPECT_EQ(functions_[index](passed.data(), values.data(), units * piece / 3, units * (piece + 1) / 3),
                0);
    for (size_t b = 0; b < bytes.size(); ++b) {
      EXPECT_TRUE(bytes[b].margins_are_whole()) << to_string(kernel);
      *memory[b] = bytes[b].numbers();
    }
  }

  Program program_;
  std::shared_ptr<const toolchain::Module> module_;
  std::vector<Function> functions_;
};

/// Compares a compiled program with symbols to the interpreted program of the graph with those sizes.
template <class Compiled>
void check_at(const Compiled& compiled, const ir::Graph& graph, const std::vector<int64_t>& values,
              double tolerance = 1e-4) {
  SCOPED_TRACE(fmt::format("at {}", fmt::join(values, ", ")));
  const auto constant = ir::substitute(graph, values);
  const auto inputs = random_inputs(constant, graph.inputs, values, 11);
  const auto got = compiled.run(values, inputs);
  const auto want = interpret(schedule(constant, all_settings()), inputs);
  for (size_t o = 0; o < want.size(); ++o) {
    const auto dtype = constant.tensor_type(graph.outputs[o].value).dtype;
    double largest = 1;  // a result of cancellation is no more exact than its terms
    for (const auto& number : want[o])
      largest = std::isfinite(number.f) ? std::max(largest, std::fabs(number.f)) : largest;
    ASSERT_EQ(got[o].size(), want[o].size());
    for (size_t i = 0; i < want[o].size(); ++i) {
      const auto a = got[o][i], b = want[o][i];
      const bool same = !ir::is_floating(dtype) ? a.i == b.i
                        : std::isnan(b.f)       ? std::isnan(a.f)
                                                : a.f == b.f || std::fabs(a.f - b.f) <= largest * tolerance;
      ASSERT_TRUE(same) << fmt::format("output {}[{}]: {} instead of {}\n", o, i,
                                       ir::is_floating(dtype) ? a.f : double(a.i),
                                       ir::is_floating(dtype) ? b.f : double(b.i))
                        << ir::print(graph);
    }
  }
}

}  // namespace antegrad::schedule
