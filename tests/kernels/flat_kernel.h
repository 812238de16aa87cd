#pragma once
// Kernels that only load and store, for tests of where values are.
#include <string>

#include "schedule/kernel.h"

namespace antegrad::test {

inline schedule::Affine flat_address() { return {0, {{0, 1}}}; }

inline schedule::Op access(schedule::OpCode code, int32_t buffer, schedule::Affine address = flat_address()) {
  schedule::Op op;
  op.code = code;
  op.buffer = buffer;
  op.address = std::move(address);
  return op;
}

/// One flat loop that reads `inputs` buffers and writes the one after them, all of `n` elements.
inline schedule::Kernel flat_kernel(const std::string& name, int32_t inputs, int64_t n) {
  schedule::Kernel kernel;
  kernel.name = name;
  kernel.loops = {n};
  schedule::Section section;
  section.loops = {0};
  for (int32_t b = 0; b <= inputs; ++b) {
    const bool output = b == inputs;
    kernel.buffers.push_back(
        {output ? schedule::Buffer::Kind::Output : schedule::Buffer::Kind::Input, ir::DType::F32, n});
    section.ops.push_back(access(output ? schedule::OpCode::Store : schedule::OpCode::Load, b));
  }
  kernel.sections.push_back(std::move(section));
  return kernel;
}

}  // namespace antegrad::test
