#include "codegen/cuda/mapping_form.h"

#include <algorithm>
#include <map>

#include "codegen/cuda/section_plan.h"

namespace antegrad::codegen::cuda {
namespace {

using schedule::Buffer;
using schedule::Kernel;
using schedule::Op;
using schedule::OpCode;
using Form = Mapping::Form;

bool has(const Kernel& kernel, OpCode code) {
  for (const auto& section : kernel.sections)
    for (const auto& op : section.ops)
      if (op.code == code) return true;
  return false;
}

bool uses_any(const Op& op, const std::map<int32_t, schedule::Combine>& scalars) {
  return std::any_of(op.args.begin(), op.args.end(), [&](int32_t arg) { return scalars.contains(arg); });
}

bool accumulates_columns(const Kernel& kernel) {
  for (const auto& section : kernel.sections)
    for (const auto& op : section.ops)
      if (op.code == OpCode::Accumulate && !op.address.terms.empty()) return true;
  return false;
}

/// Whether sections without loops only pass on what threads have reduced to accumulators that combine it in
/// the same way, so that each thread may do that with its own part.
bool combines_only(const Kernel& kernel) {
  std::map<int32_t, schedule::Combine> reduced;
  for (const auto& section : kernel.sections)
    for (const auto& op : section.ops) {
      if (op.code == OpCode::Reduce) {
        reduced[op.result] = op.combine;
        continue;
      }
      if (!section.loops.empty()) continue;
      const auto from = op.args.empty() ? reduced.end() : reduced.find(op.args[0]);
      if (op.code == OpCode::Accumulate && (from == reduced.end() || from->second != op.combine))
        return false;
      if (op.code == OpCode::Cast && from != reduced.end())
        reduced[op.result] = from->second;
      else if (op.code == OpCode::Store || op.code == OpCode::Scatter ||
               (op.code == OpCode::Compute && uses_any(op, reduced)))
        return false;
    }
  return true;
}

}  // namespace

Form form_of(const Kernel& kernel) {
  int looped = 0;
  bool effects_once = false, may_be_empty = false;
  for (const auto& section : kernel.sections) {
    looped += section.loops.empty() ? 0 : 1;
    const auto count = iterations(kernel, section.loops);
    may_be_empty = may_be_empty || !count.is_constant() || count.constant() <= 0;
    effects_once = effects_once ||
                   (section.loops.empty() && std::any_of(section.ops.begin(), section.ops.end(), has_effect));
  }
  const bool scratch = std::any_of(kernel.buffers.begin(), kernel.buffers.end(),
                                   [](const Buffer& buffer) { return buffer.kind == Buffer::Kind::Scratch; });
  const bool independent = looped <= 1 && !has(kernel, OpCode::Reduce) && !scratch;
  if (!kernel.chunks.is(0)) {
    if (kernel.outer.empty() && looped == 1 && !scratch && combines_only(kernel)) return Form::All;
  } else if (independent && !(effects_once && may_be_empty)) {
    return Form::Flat;
  }
  return kernel.lane >= 0 && !accumulates_columns(kernel) ? Form::Columns : Form::Rows;
}

bool has_free_columns(const Kernel& kernel) {
  if (kernel.chunks.is(0) || has(kernel, OpCode::Reduce)) return false;
  const auto sections = plan_sections(kernel, Form::Rows, 1);
  int looped = 0;
  for (const auto& section : sections) {
    looped += section.has_loops() ? 1 : 0;
    if (section.has_loops() ? !section.serial.empty()
                            : std::any_of(section.ops.begin(), section.ops.end(), has_effect))
      return false;
    for (const auto& op : section.ops)
      if (op.code == OpCode::Accumulate && op.address.terms.size() != section.spread.size()) return false;
  }
  return looped == 1 && std::none_of(kernel.buffers.begin(), kernel.buffers.end(), [](const Buffer& buffer) {
           return buffer.kind == Buffer::Kind::Scratch;
         });
}

}  // namespace antegrad::codegen::cuda
