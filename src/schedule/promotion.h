#pragma once
#include <optional>

#include "schedule/item.h"

namespace antegrad::schedule {

/// The type to which LibTorch promotes the operands of an op. A non-integer number counts as f32; a capture
/// under another default dtype makes the dtype explicit.
class Promotion {
 public:
  void add(const ir::TensorType& type);
  void add(const Number& number);
  ir::DType result() const;

 private:
  std::optional<ir::DType> tensor_, scalar_, number_;
};

/// Converts the operands of an op as LibTorch does: to their common type, except for numbers and one-element
/// tensors that some ops take in their compute type. Returns false when the type cannot represent one of the
/// numbers; LibTorch then runs the op and reports the error.
bool convert_operands(const ir::Graph& graph, std::string_view op, ir::DType common,
                      std::vector<Operand>& operands);

/// Returns the number as an element of the type; nothing when the type cannot represent it. Numbers that
/// depend on symbolic sizes are returned unchanged.
std::optional<Number> converted(const Number& number, ir::DType dtype);

}  // namespace antegrad::schedule
