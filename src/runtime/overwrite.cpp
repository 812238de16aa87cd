#include "runtime/overwrite.h"

#include <algorithm>
#include <optional>

namespace antegrad::runtime {
namespace {

using schedule::Affine;
using schedule::Kernel;
using schedule::OpCode;
using schedule::Section;

/// Whether no two iterations of the section have the same address.
bool is_injective(const Kernel& kernel, const Section& section, const Affine& address,
                  const std::vector<int64_t>& symbols) {
  const auto value_of = [&](int32_t s) { return symbols[static_cast<size_t>(s)]; };
  std::vector<std::pair<int64_t, int64_t>> strides;  // with extents
  auto add = [&](int32_t loop) {
    const auto extent = kernel.loops[static_cast<size_t>(loop)].evaluate(value_of);
    const auto stride = address.coefficient(loop).evaluate(value_of);
    if (extent > 1) strides.emplace_back(stride, extent);
    return stride >= 0;
  };
  for (auto loop : kernel.outer)
    if (!add(loop)) return false;
  for (auto loop : section.loops)
    if (!add(loop)) return false;
  std::sort(strides.begin(), strides.end());
  int64_t reach = 0;  // of the loops with smaller strides
  for (const auto& [stride, extent] : strides) {
    if (stride <= reach) return false;
    reach += stride * (extent - 1);
  }
  return true;
}

/// The one section and address through which a kernel reads and writes two buffers.
struct Accesses {
  const Section* section = nullptr;
  std::optional<Affine> address;
  bool read = false, written = false;

  /// False: not by one address, or read after the write.
  bool add(const Section& in, const schedule::Op& op, bool is_read) {
    if (op.code != (is_read ? OpCode::Load : OpCode::Store) || !op.indirect.empty()) return false;
    if (section != nullptr && (section != &in || *address != op.address)) return false;
    if (is_read && written) return false;
    section = &in;
    address = op.address;
    (is_read ? read : written) = true;
    return true;
  }
};

}  // namespace

bool may_overwrite(const Kernel& kernel, int32_t input, int32_t output, const std::vector<int64_t>& symbols) {
  const auto& buffers = kernel.buffers;
  if (kernel.owner || ir::size_in_bytes(buffers[static_cast<size_t>(input)].dtype) !=
                          ir::size_in_bytes(buffers[static_cast<size_t>(output)].dtype))
    return false;
  Accesses accesses;
  for (const auto& section : kernel.sections)
    for (const auto& op : section.ops)
      if ((op.buffer == input || op.buffer == output) && !accesses.add(section, op, op.buffer == input))
        return false;
  return accesses.read && accesses.written &&
         is_injective(kernel, *accesses.section, *accesses.address, symbols);
}

bool may_fail(const Kernel& kernel) {
  return std::any_of(kernel.sections.begin(), kernel.sections.end(), [](const Section& section) {
    return std::any_of(section.ops.begin(), section.ops.end(),
                       [](const schedule::Op& op) { return !op.indirect.empty(); });
  });
}

}  // namespace antegrad::runtime
