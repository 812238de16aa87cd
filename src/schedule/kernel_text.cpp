// Text of kernels for people and tests.
#include <fmt/format.h>

#include "schedule/kernel.h"
#include "util/ids.h"

namespace antegrad::schedule {
namespace {

std::string factor_text(const ir::Dim& dim) {
  const auto text = dim.to_string();
  return dim.is_constant() || dim.as_symbol() ? text : "(" + text + ")";
}

std::string address_text(const Op& op) {
  std::string out = op.address.offset.to_string();
  for (const auto& [loop, coefficient] : op.address.terms)
    out += fmt::format(" + {}*i{}", factor_text(coefficient), loop);
  for (const auto& part : op.indirect)
    out += fmt::format(" + {}*{}(v{} < {})", factor_text(part.stride), part.wraps ? "wrap" : "at", part.index,
                       part.size.to_string());
  return fmt::format("b{}[{}]", op.buffer, out);
}

std::string arguments(const Op& op) {
  std::string out;
  for (const auto arg : op.args) out += fmt::format("{}v{}", out.empty() ? "" : ", ", arg);
  return "(" + out + ")";
}

std::string op_text(const Op& op) {
  static constexpr std::string_view kRandom[] = {"bits32", "bits64", "normal32", "normal64"};
  switch (op.code) {
    case OpCode::Load:
      return "load " + address_text(op);
    case OpCode::Store:
      return fmt::format("store {} {}", address_text(op), arguments(op));
    case OpCode::Constant:
      return "constant " + to_string(op.number);
    case OpCode::Index:
      return "index " + address_text(op).substr(address_text(op).find('['));
    case OpCode::Compute:
      return fmt::format("{} {} in {}", op.text, arguments(op), ir::name(op.operand));
    case OpCode::Cast:
      return "cast " + arguments(op);
    case OpCode::Reduce:
      return fmt::format("reduce {} {}", name(op.combine), arguments(op));
    case OpCode::Accumulate:
      return fmt::format("accumulate {} {} {}", name(op.combine), address_text(op), arguments(op));
    case OpCode::Random:
      return fmt::format("random {} {} from {}", kRandom[ordinal(op.random)], address_text(op),
                         to_string(op.number));
    case OpCode::Scatter:
      return fmt::format("scatter {} {} {}", name(op.combine), address_text(op), arguments(op));
  }
  return {};
}

std::string loop_list(const Kernel& kernel, const std::vector<int32_t>& loops) {
  std::string out;
  for (const auto loop : loops)
    out += fmt::format("{}i{} < {}", out.empty() ? "" : ", ", loop, kernel.loops[loop].to_string());
  return out.empty() ? "once" : out;
}

std::string buffer_text(const Buffer& buffer) {
  static constexpr std::string_view kKinds[] = {"in", "out", "scratch"};
  auto out = fmt::format("{} {}[{}]", kKinds[ordinal(buffer.kind)], ir::name(buffer.dtype),
                         buffer.elements.to_string());
  if (buffer.host) out = "host " + out;
  return buffer.spill < 0 ? out : fmt::format("{} or b{}", out, buffer.spill);
}

}  // namespace

std::string to_string(const Literal& number) {
  if (const auto* dim = std::get_if<ir::Dim>(&number)) return dim->to_string();
  if (const auto* real = std::get_if<SizeReal>(&number))
    return fmt::format("{}({}, {})", name(real->form), real->scale, real->dim.to_string());
  if (const auto* real = std::get_if<double>(&number)) return fmt::format("{}", *real);
  return fmt::format("{}", std::get<int64_t>(number));
}

std::string to_string(const Kernel& kernel) {
  const bool is_cuda = kernel.device == ir::Device::Kind::Cuda;
  auto out = fmt::format("kernel {}{}\n", kernel.name, is_cuda ? " for cuda" : "");
  for (size_t i = 0; i < kernel.buffers.size(); ++i)
    out += fmt::format("  b{}: {}\n", i, buffer_text(kernel.buffers[i]));
  for (const auto& part : kernel.parts) {
    std::string buffers;
    for (const auto buffer : part.buffers) buffers += fmt::format(" b{}", buffer);
    out += fmt::format("  part with{}: {}", buffers, to_string(part.kernel));
  }
  if (!kernel.parts.empty()) return out;
  out += fmt::format("  for {}", loop_list(kernel, kernel.outer));
  if (kernel.lane >= 0) out += fmt::format("; strips of i{}", kernel.lane);
  if (!kernel.chunks.is(0)) out += fmt::format("; {} chunks", kernel.chunks.to_string());
  if (kernel.owner) out += "; by owner";
  for (const auto& [buffer, elements] : kernel.clear)
    out += fmt::format("; clear b{} by {}", buffer, elements.to_string());
  out += '\n';
  for (const auto& section : kernel.sections) {
    out += fmt::format("  section {}\n", loop_list(kernel, section.loops));
    for (const auto& op : section.ops) {
      out += "    ";
      if (op.result >= 0) out += fmt::format("v{}: {} = ", op.result, ir::name(op.dtype));
      out += op_text(op) + (op.comment.empty() ? "" : "  # " + op.comment) + '\n';
    }
  }
  return out;
}

}  // namespace antegrad::schedule
