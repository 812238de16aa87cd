#pragma once
// Programs built by hand: their kernels are C++ functions, so nothing is compiled.
#include <torch/torch.h>

#include <string>
#include <vector>

#include "ir/text.h"
#include "ir/verify.h"
#include "kernels/flat_kernel.h"
#include "runtime/executable.h"
#include "schedule/program.h"

namespace antegrad::test {

using Tensors = std::vector<at::Tensor>;

/// An elementwise kernel: its last buffer is a function of the others.
template <auto kFunction, class... Inputs>
int64_t elementwise(void* const* buffers, const int64_t*, int64_t begin, int64_t end) {
  constexpr size_t kInputs = sizeof...(Inputs);
  auto* out = static_cast<float*>(buffers[kInputs]);
  for (int64_t i = begin; i < end; ++i) out[i] = [&]<size_t... I>(std::index_sequence<I...>) {
      return kFunction(static_cast<const float*>(buffers[I])[i]...);
    }
  (std::make_index_sequence<kInputs>());
  return 0;
}

inline int64_t add(void* const* b, const int64_t* d, int64_t begin, int64_t end) {
  return elementwise<[](float x, float y) { return x + y; }, float, float>(b, d, begin, end);
}
inline int64_t twice(void* const* b, const int64_t* d, int64_t begin, int64_t end) {
  return elementwise<[](float x) { return 2 * x; }, float>(b, d, begin, end);
}

struct HandMade {
  schedule::Program program;
  std::vector<runtime::KernelCode> code;

  explicit HandMade(const std::string& text) {
    program.graph = ir::parse(text);
    ir::verify(program.graph);
  }
  int32_t kernel(schedule::Kernel kernel, runtime::KernelFunction function) {
    program.kernels.push_back(std::move(kernel));
    code.push_back({function, nullptr, nullptr});
    return static_cast<int32_t>(code.size()) - 1;
  }
  HandMade& run_kernel(int32_t kernel, const std::vector<int32_t>& values, int64_t units, int64_t grain) {
    schedule::RunKernel step;
    step.kernel = kernel;
    for (auto v : values) step.buffers.push_back({v});
    step.units = units;
    step.grain = grain;
    program.steps.emplace_back(std::move(step));
    return *this;
  }
  HandMade& run_node(int32_t node) {
    program.steps.emplace_back(schedule::RunNode{{node}});
    return *this;
  }
  runtime::Executable executable(bool compare = false) const { return {program, code, {}, compare}; }
};

inline Tensors run(const runtime::Executable& executable, const Tensors& inputs) {
  Tensors outputs;
  executable.run(inputs, outputs);
  return outputs;
}

}  // namespace antegrad::test
