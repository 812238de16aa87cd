#include "schedule/promotion.h"

#include <algorithm>
#include <array>

#include "ir/element.h"

namespace antegrad::schedule {
namespace {

using ir::DType;

int category(DType dtype) { return dtype == DType::Bool ? 0 : ir::is_floating(dtype) ? 2 : 1; }

DType wider(DType a, DType b) {
  if (category(a) != category(b)) return category(a) > category(b) ? a : b;
  if (a != b && ir::size_in_bytes(a) == ir::size_in_bytes(b))
    return category(a) == 2 ? DType::F32 : DType::I16;
  return ir::size_in_bytes(a) > ir::size_in_bytes(b) ? a : b;
}

/// Ops whose kernels for half types take their numbers as f32.
constexpr std::array<std::string_view, 13> kWideNumbers = {"aten.softshrink",
                                                           "aten.threshold",
                                                           "aten.threshold_backward",
                                                           "aten.leaky_relu",
                                                           "aten.leaky_relu_backward",
                                                           "aten.elu",
                                                           "aten.elu_backward",
                                                           "aten.celu",
                                                           "aten.native_dropout_backward",
                                                           "aten.hardtanh_backward",
                                                           "aten.softplus",
                                                           "aten.softplus_backward",
                                                           "aten.lerp.Scalar"};

/// Whether the op takes its second operand as f32, be it a number or a tensor of one element.
bool has_wide_second(std::string_view op) {
  return op.starts_with("aten.mul.") || op.starts_with("aten.div.") || op.starts_with("aten.floor_divide");
}

bool is_wide(const ir::Graph& graph, std::string_view op, size_t position, const Operand& operand) {
  const bool single = !operand.value.valid() || graph.tensor_type(operand.value).numel().is(1);
  if (has_wide_second(op)) return position == 1 && single;
  return !operand.value.valid() && std::ranges::find(kWideNumbers, op) != kWideNumbers.end();
}

}  // namespace

void Promotion::add(const ir::TensorType& type) {
  auto& best = type.sizes.empty() ? scalar_ : tensor_;
  best = best ? wider(*best, type.dtype) : type.dtype;
}

void Promotion::add(const Number& number) {
  const auto dtype = as_dim(number) ? DType::I64 : DType::F32;
  number_ = number_ ? wider(*number_, dtype) : dtype;
}

DType Promotion::result() const {
  auto type = tensor_ ? tensor_ : scalar_ ? scalar_ : number_;
  for (const auto& other : {scalar_, number_})
    if (other && type && category(*other) > category(*type)) type = other;
  return type.value_or(DType::F32);
}

std::optional<Number> converted(const Number& number, DType dtype) {
  const auto convert = [&](auto value) -> std::optional<Number> {
    if (!ir::fits(dtype, value)) return std::nullopt;
    if (dtype == DType::Bool) return Number(int64_t{value != 0});
    return ir::is_half(dtype) ? Number(ir::rounded_to(dtype, value)) : Number(value);
  };
  if (const auto* integer = std::get_if<int64_t>(&number)) return convert(*integer);
  if (const auto* real = std::get_if<double>(&number)) return convert(*real);
  return number;
}

bool convert_operands(const ir::Graph& graph, std::string_view op, DType common,
                      std::vector<Operand>& operands) {
  for (size_t i = 0; i < operands.size(); ++i) {
    auto& operand = operands[i];
    const auto dtype = is_wide(graph, op, i, operand) ? compute_type(common) : common;
    if (operand.value.valid()) {
      const auto own = graph.tensor_type(operand.value).dtype;
      if (own != dtype && (ir::is_half(own) || ir::is_half(dtype)))
        operand.rounds = ir::is_half(dtype) ? dtype : own;
      continue;
    }
    const auto number = converted(operand.number, dtype);
    if (!number) return false;
    operand.number = *number;
    if (ir::is_half(dtype) && is_made_of_sizes(operand.number)) operand.rounds = dtype;
  }
  return true;
}

}  // namespace antegrad::schedule
