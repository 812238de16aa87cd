#pragma once
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "ir/graph.h"

namespace antegrad::passes {

/// Tensors with more elements are not evaluated at compile time: their data would bloat graph texts.
inline constexpr int64_t kLargestLiteral = 64;

/// A small tensor by value, row-major.
struct Literal {
  ir::DType dtype = ir::DType::F32;
  std::vector<int64_t> sizes;
  std::vector<uint8_t> data;

  int64_t numel() const;

  template <class T>
  T get(int64_t i) const {
    T value;
    std::memcpy(&value, data.data() + i * sizeof(T), sizeof(T));
    return value;
  }
  template <class T>
  void set(int64_t i, T value) {
    std::memcpy(data.data() + i * sizeof(T), &value, sizeof(T));
  }
};

/// The element type of Boolean literals: a byte that is 0 or 1.
enum class Bool : uint8_t { False, True };

/// Returns a literal of the type's dtype and sizes, all zero; nothing if the type is symbolic, too large, not
/// on the CPU or of an unsupported dtype.
std::optional<Literal> empty_literal(const ir::TensorType& type);

/// Returns the contents of an antegrad.constant node, under the same conditions.
std::optional<Literal> literal_of_constant(const ir::Graph& graph, const ir::Node& node);

/// Calls fn(T{}) with the element type of the dtype and returns its result; false if the dtype is not
/// supported.
template <class Fn>
bool with_element_type(ir::DType dtype, Fn&& fn) {
  switch (dtype) {
    case ir::DType::F32:
      return fn(float{});
    case ir::DType::F64:
      return fn(double{});
    case ir::DType::I64:
      return fn(int64_t{});
    case ir::DType::I32:
      return fn(int32_t{});
    case ir::DType::Bool:
      return fn(Bool{});
    default:
      return false;
  }
}

/// Where the elements of a tensor are in a row-major literal.
struct Walk {
  std::vector<int64_t> sizes, strides;
  int64_t offset = 0;

  static Walk over(const std::vector<int64_t>& sizes);
  /// Calls fn(position in the literal) for each element, row-major in `sizes`.
  template <class Fn>
  void for_each(Fn&& fn) const {
    std::vector<int64_t> at(sizes.size());
    for (auto size : sizes)
      if (size == 0) return;
    for (int64_t position = offset;;) {
      fn(position);
      size_t d = sizes.size();
      for (; d > 0; --d) {
        position += strides[d - 1];
        if (++at[d - 1] < sizes[d - 1]) break;
        position -= strides[d - 1] * sizes[d - 1];
        at[d - 1] = 0;
      }
      if (d == 0) return;
    }
  }
  /// Returns the walk that repeats this one over larger sizes, by broadcasting; nothing if the sizes do not
  /// fit.
  std::optional<Walk> broadcast_to(const std::vector<int64_t>& target) const;
};

}  // namespace antegrad::passes
