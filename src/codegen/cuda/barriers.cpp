#include "codegen/cuda/barriers.h"

#include <algorithm>

namespace antegrad::codegen::cuda {
namespace {

using schedule::Buffer;
using schedule::Kernel;
using schedule::OpCode;

bool may_share_memory(const Kernel& kernel, int32_t first, int32_t second) {
  if (first == second) return true;
  const auto *input = &kernel.buffers[first], *output = &kernel.buffers[second];
  if (input->kind == Buffer::Kind::Output) std::swap(input, output);
  if (input->kind != Buffer::Kind::Input || output->kind != Buffer::Kind::Output) return false;
  if (ir::size_in_bytes(input->dtype) != ir::size_in_bytes(output->dtype)) return false;
  const auto &from = input->elements, &to = output->elements;
  return !from.is_constant() || !to.is_constant() || to.constant() <= from.constant();
}

/// One access of a section to memory, not to registers that are kept.
struct Access {
  const Kernel& kernel;
  const SectionPlan& section;
  size_t op;

  const schedule::Op& what() const { return section.ops[op]; }
  bool is_store() const { return what().code == OpCode::Store; }

  /// Whether each thread accesses one element per iteration of its own.
  bool is_divided() const {
    return section.plans[op].level == Level::Element && section.serial.empty() && what().indirect.empty() &&
           !section.plans[op].once && section.has_loops();
  }

  /// Whether the thread that accesses an element here is the one that does so there.
  bool is_same_thread(const Access& other) const {
    if (!is_divided() || !other.is_divided() || section.vector != other.section.vector ||
        section.trips != other.section.trips || section.spread.size() != other.section.spread.size() ||
        what().address.offset != other.what().address.offset)
      return false;
    const auto coefficient = [](const Access& of, int32_t loop) {
      return of.what().address.coefficient(loop);
    };
    for (const auto loop : kernel.outer)
      if (coefficient(*this, loop) != coefficient(other, loop)) return false;
    for (size_t i = 0; i < section.spread.size(); ++i) {
      const auto mine = section.spread[i], its = other.section.spread[i];
      if (kernel.loops[mine] != kernel.loops[its] || coefficient(*this, mine) != coefficient(other, its))
        return false;
    }
    return true;
  }

  bool conflicts_with(const Access& earlier) const {
    return (is_store() || earlier.is_store()) &&
           may_share_memory(kernel, what().buffer, earlier.what().buffer) && !is_same_thread(earlier);
  }
};

std::vector<Access> accesses_of(const Kernel& kernel, const SectionPlan& section) {
  std::vector<Access> out;
  for (size_t i = 0; i < section.ops.size(); ++i) {
    const auto code = section.ops[i].code;
    if ((code == OpCode::Load || code == OpCode::Store) &&
        (section.plans[i].keep < 0 || section.plans[i].fills))
      out.push_back({kernel, section, i});
  }
  return out;
}

bool conflict(const std::vector<Access>& later, const std::vector<Access>& earlier) {
  return std::any_of(later.begin(), later.end(), [&](const Access& one) {
    return std::any_of(earlier.begin(), earlier.end(),
                       [&](const Access& other) { return one.conflicts_with(other); });
  });
}

/// Whether threads wait for each other at the end of a section, to combine what they reduced.
bool ends_with_barrier(const SectionPlan& section, const Mapping& mapping) {
  const bool waits = mapping.form == Mapping::Form::Columns || mapping.threads_per_row > kWarp;
  return waits && section.has_loops() &&
         std::any_of(section.ops.begin(), section.ops.end(),
                     [](const schedule::Op& op) { return op.code == OpCode::Reduce; });
}

}  // namespace

std::vector<bool> barriers_before(const Kernel& kernel, const KernelPlan& plan, const Mapping& mapping) {
  std::vector<bool> out(plan.sections.size(), false);
  std::vector<std::vector<Access>> since;  ///< the accesses of each section since the last barrier
  for (size_t i = 0; i < plan.sections.size(); ++i) {
    auto now = accesses_of(kernel, plan.sections[i]);
    out[i] = std::any_of(since.begin(), since.end(),
                         [&](const std::vector<Access>& earlier) { return conflict(now, earlier); });
    if (out[i]) since.clear();
    since.push_back(std::move(now));
    if (ends_with_barrier(plan.sections[i], mapping)) since.clear();
  }
  return out;
}

}  // namespace antegrad::codegen::cuda
