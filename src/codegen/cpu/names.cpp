#include "codegen/cpu/names.h"

#include <fmt/format.h>

#include <algorithm>

namespace antegrad::codegen::cpu {

int64_t lanes(const schedule::Kernel& kernel) {
  const auto& extent = kernel.loops[kernel.lane];
  if (!extent.is_constant() || extent.constant() > schedule::kStrip) return schedule::kStrip;
  return std::max<int64_t>(extent.constant(), 1);
}

std::string LaneNames::scalar(int32_t id) const {
  return Names::scalar(id) + (plan_.per_lane[id] ? "[l]" : "");
}

std::string LaneNames::subscript(int32_t buffer, const std::string& indirect, const std::string& address) {
  const bool is_scratch = kernel().buffers[buffer].kind == schedule::Buffer::Kind::Scratch;
  if (!is_scratch || kernel().lane < 0) return indirect + address;
  if (address == "0" && indirect.empty()) return "l";
  return fmt::format("({}{}) * {} + l", indirect, address, lanes(kernel()));
}

}  // namespace antegrad::codegen::cpu
