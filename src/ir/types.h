#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ir/dim.h"

namespace antegrad::ir {

enum class DType : uint8_t {
  U8,
  I8,
  I16,
  I32,
  I64,
  U16,
  U32,
  U64,
  F16,
  BF16,
  F32,
  F64,
  C32,
  C64,
  C128,
  Bool,
  F8E4M3,
  F8E5M2
};
std::string_view name(DType dtype);  ///< "f32", "i64", "bool", …
std::optional<DType> dtype_from_name(std::string_view name);
int64_t size_in_bytes(DType dtype);
bool is_floating(DType dtype);
bool is_complex(DType dtype);

struct Device {
  enum class Kind : uint8_t { Cpu, Cuda, Meta } kind = Kind::Cpu;
  int32_t index = -1;  ///< -1 for the current device
  bool operator==(const Device&) const = default;
};
std::string to_string(const Device& device);  ///< "cpu", "cuda:0", "meta"

enum class Layout : uint8_t { Strided, Sparse };
enum class MemoryFormat : uint8_t { Contiguous, Preserve, ChannelsLast, ChannelsLast3d };
std::string_view name(Layout layout);
std::string_view name(MemoryFormat format);

struct TensorType {
  DType dtype = DType::F32;
  Device device;
  std::vector<Dim> sizes;
  std::vector<Dim> strides;
  Dim offset;  ///< of the first element, in the storage

  bool is_contiguous() const;  ///< row-major strides, compared as expressions; any offset
  Dim numel() const;
  bool operator==(const TensorType&) const = default;
};
std::vector<Dim> contiguous_strides(const std::vector<Dim>& sizes);
TensorType contiguous_tensor(DType dtype, std::vector<Dim> sizes, Device device = {});

enum class ScalarKind : uint8_t { None, Int, Float, Bool, Complex, Str, Token };

struct Type;
struct ListType {
  std::shared_ptr<const Type> element;
  bool operator==(const ListType& other) const;
};
struct OptionalType {
  std::shared_ptr<const Type> element;
  bool operator==(const OptionalType& other) const;
};

/// The type of a value. ScalarKind::None is the type of an undefined tensor.
struct Type {
  std::variant<TensorType, ScalarKind, ListType, OptionalType> v = ScalarKind::None;

  Type() = default;
  Type(TensorType t) : v(std::move(t)) {}
  Type(ScalarKind kind) : v(kind) {}
  static Type list(Type element);
  static Type optional(Type element);

  const TensorType* tensor() const { return std::get_if<TensorType>(&v); }
  TensorType* tensor() { return std::get_if<TensorType>(&v); }
  bool operator==(const Type&) const = default;
};

}  // namespace antegrad::ir
