#pragma once
#include <optional>

#include "schedule/item.h"

namespace antegrad::schedule {

/// The type that LibTorch brings the operands of an op to before it computes. A number of a fraction counts
/// as f32: captures spell out another default dtype.
class Promotion {
 public:
  void add(const ir::TensorType& type);
  void add(const Number& number);
  ir::DType result() const;

 private:
  std::optional<ir::DType> tensor_, scalar_, number_;
};

/// Makes the operands of an op what LibTorch makes of them: each is converted to the type that operands have
/// in common, but for numbers and single elements that some ops take in the type they compute in. False: the
/// type does not hold one of the numbers; LibTorch knows what to say.
bool convert_operands(const ir::Graph& graph, std::string_view op, ir::DType common,
                      std::vector<Operand>& operands);

/// A number as elements of the type have it; nothing where the type does not hold it. Numbers made of sizes
/// stay as they are.
std::optional<Number> converted(const Number& number, ir::DType dtype);

}  // namespace antegrad::schedule
