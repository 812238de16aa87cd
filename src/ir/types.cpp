#include "ir/types.h"

#include <array>

#include "util/ids.h"

namespace antegrad::ir {
namespace {

struct DTypeInfo {
  std::string_view name;
  int64_t bytes;
  bool floating, complex;
};
/// In the order of the enumerators.
constexpr std::array<DTypeInfo, 18> kDTypes{{
    {"u8", 1, false, false},
    {"i8", 1, false, false},
    {"i16", 2, false, false},
    {"i32", 4, false, false},
    {"i64", 8, false, false},
    {"u16", 2, false, false},
    {"u32", 4, false, false},
    {"u64", 8, false, false},
    {"f16", 2, true, false},
    {"bf16", 2, true, false},
    {"f32", 4, true, false},
    {"f64", 8, true, false},
    {"c32", 4, false, true},
    {"c64", 8, false, true},
    {"c128", 16, false, true},
    {"bool", 1, false, false},
    {"f8e4m3", 1, true, false},
    {"f8e5m2", 1, true, false},
}};

const DTypeInfo& info(DType dtype) { return kDTypes[ordinal(dtype)]; }

bool equal_elements(const std::shared_ptr<const Type>& a, const std::shared_ptr<const Type>& b) {
  return a == b || (a && b && *a == *b);
}

}  // namespace

std::string_view name(DType dtype) { return info(dtype).name; }
int64_t size_in_bytes(DType dtype) { return info(dtype).bytes; }
bool is_floating(DType dtype) { return info(dtype).floating; }
bool is_complex(DType dtype) { return info(dtype).complex; }

std::optional<DType> dtype_from_name(std::string_view name) {
  for (size_t i = 0; i < kDTypes.size(); ++i)
    if (kDTypes[i].name == name) return static_cast<DType>(i);
  return std::nullopt;
}

std::string to_string(const Device& device) {
  static constexpr std::string_view kKinds[] = {"cpu", "cuda", "meta"};
  std::string out(kKinds[ordinal(device.kind)]);
  if (device.index >= 0) out += ':' + std::to_string(device.index);
  return out;
}

std::string_view name(Layout layout) { return layout == Layout::Strided ? "strided" : "sparse"; }

std::string_view name(MemoryFormat format) {
  static constexpr std::string_view kNames[] = {"contiguous", "preserve", "channels_last",
                                                "channels_last_3d"};
  return kNames[ordinal(format)];
}

std::vector<Dim> contiguous_strides(const std::vector<Dim>& sizes) {
  std::vector<Dim> strides(sizes.size());
  Dim stride = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = stride;
    // Like LibTorch, counts an empty dimension as one element. Symbols stand for sizes that are not zero.
    if (!sizes[i].is_constant() || sizes[i].constant() > 1) stride = stride * sizes[i];
  }
  return strides;
}

bool TensorType::is_contiguous() const {
  if (strides.size() != sizes.size()) return false;
  return strides == contiguous_strides(sizes);
}

Dim TensorType::numel() const {
  Dim total = 1;
  for (const auto& size : sizes) total = total * size;
  return total;
}

TensorType contiguous_tensor(DType dtype, std::vector<Dim> sizes, Device device) {
  TensorType type;
  type.dtype = dtype;
  type.device = device;
  type.strides = contiguous_strides(sizes);
  type.sizes = std::move(sizes);
  return type;
}

bool ListType::operator==(const ListType& other) const { return equal_elements(element, other.element); }
bool OptionalType::operator==(const OptionalType& other) const {
  return equal_elements(element, other.element);
}

Type Type::list(Type element) {
  Type out;
  out.v = ListType{std::make_shared<const Type>(std::move(element))};
  return out;
}

Type Type::optional(Type element) {
  Type out;
  out.v = OptionalType{std::make_shared<const Type>(std::move(element))};
  return out;
}

}  // namespace antegrad::ir
