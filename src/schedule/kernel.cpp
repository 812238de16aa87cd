#include "schedule/kernel.h"

#include <algorithm>

#include "antegrad/error.h"
#include "util/ids.h"

namespace antegrad::schedule {

using ir::DType;

ir::Dim Affine::coefficient(int32_t loop) const {
  for (const auto& [of, coefficient] : terms)
    if (of == loop) return coefficient;
  return 0;
}

std::string_view name(Combine combine) {
  static constexpr std::string_view kNames[] = {"sum", "product", "max", "min", "any", "all", "set"};
  return kNames[ordinal(combine)];
}

DType compute_type(DType dtype) { return dtype == DType::F16 || dtype == DType::BF16 ? DType::F32 : dtype; }

ir::Dim accumulators(const Kernel& kernel, const Op& op) {
  ir::Dim count = 1;
  for (const auto& [loop, coefficient] : op.address.terms) count = count * kernel.loops[loop];
  return count;
}

int32_t divided_section(const Kernel& kernel) {
  int32_t found = -1;
  for (size_t i = 0; i < kernel.sections.size(); ++i) {
    const auto& section = kernel.sections[i];
    if (section.loops.empty()) continue;
    const bool reduces = std::any_of(section.ops.begin(), section.ops.end(),
                                     [](const Op& op) { return op.code == OpCode::Reduce; });
    if (found >= 0 || (reduces && kernel.chunks.is(0))) return -1;
    found = static_cast<int32_t>(i);
  }
  return found;
}

namespace {

ir::Dim positions(const Kernel& kernel) {
  for (const auto& section : kernel.sections)
    for (const auto& op : section.ops)
      if (op.code == OpCode::Scatter && !op.indirect.empty()) return op.indirect.front().size;
  throw Error(ErrorCode::Internal, "schedule:" + kernel.name, "an owner kernel has no scatter with an index");
}

}  // namespace

ir::Dim units_of_all_chunks(const Kernel& kernel) {
  if (kernel.owner) return positions(kernel);
  if (kernel.outer.empty()) {
    const auto divided = divided_section(kernel);
    if (divided < 0) return 1;
    return kernel.loops[kernel.sections[divided].loops.front()];
  }
  ir::Dim count = 1;
  for (const auto loop : kernel.outer) {
    const auto& extent = kernel.loops[loop];
    count = count * (loop == kernel.lane ? floor_div(extent + (kStrip - 1), kStrip) : extent);
  }
  return count;
}

ir::Dim units(const Kernel& kernel) {
  return kernel.chunks.is(0) ? units_of_all_chunks(kernel) : kernel.chunks;
}

void remove_texts(Kernel& kernel, bool all) {
  kernel.text.clear();
  for (auto& section : kernel.sections)
    for (auto& op : section.ops)
      if (all || op.indirect.empty()) op.comment.clear();
  for (auto& part : kernel.parts) remove_texts(part.kernel, all);
}

}  // namespace antegrad::schedule
