#include "compiler/api/graph_inputs.h"

#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include "aot/aliasing.h"
#include "aten/convert.h"
#include "ir/text.h"

namespace antegrad::compiler {

static bool same_sizes(const ir::TensorType& a, const ir::TensorType& b) {
  const bool same_device = a.device.kind == b.device.kind &&
                           (a.device.index == b.device.index || a.device.index < 0 || b.device.index < 0);
  return a.dtype == b.dtype && same_device && a.sizes == b.sizes;
}

std::string misfit(const at::Tensor& given, const ir::Type& wanted) {
  const auto* type = wanted.tensor();
  const auto found =
      given.defined() ? ir::Type(aten::type_of(given, given.device())) : ir::Type(ir::ScalarKind::None);
  const bool fits = type != nullptr && found.tensor() != nullptr ? same_sizes(*type, *found.tensor())
                                                                 : type == nullptr && !given.defined();
  return fits ? "" : fmt::format("{} where the graph takes {}", ir::print(found), ir::print(wanted));
}

at::Tensor strided(const at::Tensor& flat, const ir::TensorType& type) {
  return flat.as_strided(aten::constants(type.sizes), aten::constants(type.strides), type.offset.constant());
}

int64_t reach_of(const ir::TensorType& type) { return aot::extent_of(type).last; }

at::Tensor in_layout(const at::Tensor& given, const ir::TensorType& type) {
  const auto plain = given.resolve_conj().resolve_neg();
  if (plain.strides() == at::IntArrayRef(aten::constants(type.strides)) &&
      plain.storage_offset() == type.offset.constant())
    return plain;
  auto out = strided(at::zeros({reach_of(type)}, aten::options_of(type)), type);
  // Along a dim of stride 0, as after expand(), elements share memory, so only one is written.
  auto target = out, source = plain;
  for (int64_t d = 0; d < out.dim(); ++d) {
    if (out.stride(d) != 0 || out.size(d) < 2) continue;
    target = target.narrow(d, 0, 1);
    source = source.narrow(d, 0, 1);
  }
  target.copy_(source);
  return out;
}

}  // namespace antegrad::compiler
