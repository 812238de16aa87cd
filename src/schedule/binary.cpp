#include "schedule/binary.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "ir/binary.h"
#include "schedule/binary_kernel.h"

namespace antegrad::schedule {
namespace {

constexpr size_t kMinKernel = 12, kMinStep = 2, kMinDecision = 3;

void write_step(ir::Encoder& to, const Step& step) {
  to.out.u8(static_cast<uint8_t>(step.index()));
  if (const auto* call = std::get_if<RunNode>(&step)) return to.index(call->node.index);
  const auto& run = std::get<RunKernel>(step);
  to.index(run.kernel);
  to.list(run.buffers, [&](ir::ValueId id) { to.index(id.index); });
  to.dim(run.units);
  to.out.signed_varint(run.grain);
}

Step read_step(ir::Decoder& from, const Program& program) {
  const uint8_t kind = from.in.u8();
  if (kind > 1) from.fail(fmt::format("step of kind {}", kind));
  if (kind == 1) return RunNode{{from.index(program.graph.nodes.size())}};
  RunKernel out;
  out.kernel = from.index(program.kernels.size());
  const auto values = program.graph.values.size();
  out.buffers = from.list(1, [&] { return ir::ValueId{from.index(values)}; });
  const auto& buffers = program.kernel_of(out).buffers;
  const auto passed = std::ranges::count_if(
      buffers, [](const Buffer& buffer) { return buffer.kind != Buffer::Kind::Scratch; });
  if (std::ssize(out.buffers) != passed)
    from.fail(fmt::format("a kernel of {} buffers is given {}", passed, out.buffers.size()));
  out.units = from.dim();
  out.grain = from.in.signed_varint();
  return out;
}

}  // namespace

void write(ByteWriter& out, const Program& program) {
  ir::Encoder to(out);
  to.graph(program.graph, ir::GraphParts::All);
  to.list(program.kernels, [&](const Kernel& kernel) { write_kernel(to, kernel); });
  to.list(program.steps, [&](const Step& step) { write_step(to, step); });
  to.list(program.decisions, [&](const Decision& decision) {
    to.indices(decision.nodes);
    to.string(decision.what);
    to.string(decision.why);
  });
}

Program read_program(ByteReader& in) {
  ir::Decoder from(in);
  Program out;
  out.graph = from.graph();
  const auto symbols = out.graph.symbols.size();
  out.kernels = from.list(kMinKernel, [&] {
    auto kernel = read_kernel(from);
    // A graph at given sizes has no symbols, but its kernels still do.
    if (symbols > 0 && std::cmp_greater(kernel.symbols, symbols))
      from.fail(fmt::format("a kernel over {} symbols in a graph of {}", kernel.symbols, symbols));
    return kernel;
  });
  from.symbols = symbols;
  out.steps = from.list(kMinStep, [&] { return read_step(from, out); });
  out.decisions = from.list(kMinDecision, [&] {
    Decision decision;
    decision.nodes = from.indices(out.graph.nodes.size());
    decision.what = from.string();
    decision.why = from.string();
    return decision;
  });
  return out;
}

void write(ByteWriter& out, const Kernel& kernel) {
  ir::Encoder to(out);
  write_kernel(to, kernel);
}

Kernel read_kernel(ByteReader& in) {
  ir::Decoder from(in);
  return read_kernel(from);
}

}  // namespace antegrad::schedule
