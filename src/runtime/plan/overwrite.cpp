#include "runtime/plan/overwrite.h"

#include <algorithm>
#include <optional>

namespace antegrad::runtime {
namespace {

using schedule::Affine;
using schedule::Kernel;
using schedule::OpCode;
using schedule::Section;

using Strides = std::vector<std::pair<int64_t, int64_t>>;  ///< stride and extent per loop

/// The strides of an address in loops that run more than once.
class Steps {
 public:
  Steps(const Kernel& kernel, const std::vector<int64_t>& symbols) : kernel_(kernel), symbols_(symbols) {}

  Strides of(const Affine& address, const std::vector<int32_t>& loops) const {
    Strides strides;
    for (auto loop : loops) {
      const auto extent = value(kernel_.loops[loop]);
      if (extent > 1) strides.emplace_back(value(address.coefficient(loop)), extent);
    }
    return strides;
  }

 private:
  int64_t value(const ir::Dim& dim) const {
    return dim.evaluate([&](int32_t s) { return symbols_[s]; });
  }
  const Kernel& kernel_;
  const std::vector<int64_t>& symbols_;
};

/// Returns whether no two iterations have the same address.
bool is_injective(Strides strides) {
  std::sort(strides.begin(), strides.end());
  int64_t reach = 0;  // of the loops with smaller strides
  for (const auto& [stride, extent] : strides) {
    if (stride <= reach) return false;
    reach += stride * (extent - 1);
  }
  return true;
}

bool is_part_of(Strides part, Strides whole) {
  std::sort(part.begin(), part.end());
  std::sort(whole.begin(), whole.end());
  return std::includes(whole.begin(), whole.end(), part.begin(), part.end());
}

/// How a kernel reads one buffer and writes another. The write is in one section, at one address.
struct Accesses {
  struct Read {
    const Section* section;
    Affine address;
  };
  const Section* section = nullptr;  ///< section of the write
  std::optional<Affine> address;
  std::vector<Read> reads;

  /// Returns false when writes have several addresses, or something is read after a write.
  bool add(const Section& in, const schedule::Op& op, bool is_read) {
    if (op.code != (is_read ? OpCode::Load : OpCode::Store) || !op.indirect.empty()) return false;
    if (is_read) {
      reads.push_back({&in, op.address});
      return section == nullptr;
    }
    if (section != nullptr && (section != &in || *address != op.address)) return false;
    section = &in;
    address = op.address;
    return true;
  }
};

/// Returns whether an iteration of the outer loops reads only what it writes itself, later or in the same
/// inner iteration.
bool is_own_memory(const Kernel& kernel, const Accesses& accesses, const Accesses::Read& read,
                   const Steps& steps) {
  const auto &from = read.address, &to = *accesses.address;
  // On CUDA devices several threads may run the iterations of an inner loop, and all of them a section
  // without one.
  if (kernel.device == ir::Device::Kind::Cuda)
    return read.section == accesses.section && !read.section->loops.empty() && from == to;
  if (read.section == accesses.section) return from == to;
  if (kernel.outer.empty() || !(from.offset == to.offset)) return false;
  return steps.of(from, kernel.outer) == steps.of(to, kernel.outer) &&
         is_part_of(steps.of(from, read.section->loops), steps.of(to, accesses.section->loops));
}

}  // namespace

bool may_overwrite(const Kernel& kernel, int32_t input, int32_t output, const std::vector<int64_t>& symbols) {
  const auto& buffers = kernel.buffers;
  if (kernel.owner || ir::size_in_bytes(buffers[input].dtype) != ir::size_in_bytes(buffers[output].dtype))
    return false;
  Accesses accesses;
  for (const auto& section : kernel.sections)
    for (const auto& op : section.ops)
      if ((op.buffer == input || op.buffer == output) && !accesses.add(section, op, op.buffer == input))
        return false;
  if (accesses.section == nullptr || accesses.reads.empty()) return false;
  const Steps steps(kernel, symbols);
  auto all = steps.of(*accesses.address, kernel.outer);
  const auto inner = steps.of(*accesses.address, accesses.section->loops);
  all.insert(all.end(), inner.begin(), inner.end());
  return is_injective(std::move(all)) &&
         std::all_of(accesses.reads.begin(), accesses.reads.end(), [&](const Accesses::Read& read) {
           return is_own_memory(kernel, accesses, read, steps);
         });
}

bool may_fail(const Kernel& kernel) {
  return std::any_of(kernel.sections.begin(), kernel.sections.end(), [](const Section& section) {
    return std::any_of(section.ops.begin(), section.ops.end(),
                       [](const schedule::Op& op) { return !op.indirect.empty(); });
  });
}

}  // namespace antegrad::runtime
