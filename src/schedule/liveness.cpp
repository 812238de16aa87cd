#include "schedule/liveness.h"

namespace antegrad::schedule {

ir::Liveness liveness(const Program& program) {
  ir::Liveness out(program.graph);
  int32_t position = 0;
  const auto run_kernel = [&](const RunKernel& step) {
    size_t passed = 0;
    for (const auto& buffer : program.kernel_of(step).buffers) {
      if (buffer.kind == Buffer::Kind::Scratch) continue;
      const auto id = step.buffers[passed++];
      if (buffer.kind == Buffer::Kind::Output)
        out.make(id, position);
      else
        out.use(id, position);
    }
  };
  for (const auto& step : program.steps) {
    if (const auto* run = std::get_if<RunKernel>(&step))
      run_kernel(*run);
    else
      out.run(program.node_of(std::get<RunNode>(step)), position);
    ++position;
  }
  out.return_outputs(position);
  return out;
}

}  // namespace antegrad::schedule
