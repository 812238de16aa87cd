#include "program/value_json.h"

#include <cmath>

#include "aten/convert.h"
#include "program/read_graph.h"
#include "program/write_sizes.h"

namespace antegrad::program {

Json real_json(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return value;
}
Json complex_json(std::complex<double> value) {
  return {{"as_complex", {{"real", real_json(value.real())}, {"imag", real_json(value.imag())}}}};
}

Json device_json(const c10::Device& device) {
  return {{"type", c10::DeviceTypeName(device.type(), true)},
          {"index", device.has_index() ? Json(device.index()) : Json()}};
}

int memory_format_number(ir::MemoryFormat format) {
  switch (format) {
    case ir::MemoryFormat::Contiguous:
      return 1;
    case ir::MemoryFormat::ChannelsLast:
      return 2;
    case ir::MemoryFormat::ChannelsLast3d:
      return 3;
    default:
      return 4;
  }
}

Json tensor_meta(const ir::TensorType& type, const std::vector<ir::Symbol>& symbols) {
  const auto all = [&](const std::vector<ir::Dim>& dims) {
    auto out = Json::array();
    for (const auto& dim : dims) out.push_back(size_json(dim, symbols));
    return out;
  };
  return {{"dtype", dtype_number(aten::to_torch(type.dtype))},
          {"sizes", all(type.sizes)},
          {"requires_grad", false},
          {"device", device_json(aten::to_torch(type.device))},
          {"strides", all(type.strides)},
          {"storage_offset", size_json(type.offset, symbols)},
          {"layout", kStridedLayout}};
}

Json tensor_meta(const at::Tensor& tensor) {
  auto out = tensor_meta(aten::type_of(tensor, tensor.device()), {});
  out["requires_grad"] = tensor.requires_grad();
  return out;
}

}  // namespace antegrad::program
