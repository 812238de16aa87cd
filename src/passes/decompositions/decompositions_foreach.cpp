// Ops on lists of tensors, in place or not, as one op per tensor.
#include <algorithm>
#include <array>

#include "passes/decompositions/decompositions.h"

namespace antegrad::passes {
namespace {

constexpr std::string_view kPrefix = "aten._foreach_";

constexpr std::array<std::string_view, 31> kUnary = {
    "abs",   "neg",   "sin",   "cos",  "tan",        "exp",    "tanh", "sinh", "cosh",  "ceil", "floor",
    "round", "trunc", "frac",  "sign", "sigmoid",    "atan",   "erf",  "erfc", "expm1", "sqrt", "rsqrt",
    "log",   "log10", "log1p", "log2", "reciprocal", "lgamma", "acos", "asin", "relu"};

/// The names of the single op with a tensor and with a number as second operand.
struct Binary {
  std::string_view name, with_tensor, with_number;
};
constexpr Binary kBinary[] = {
    {"add", "aten.add.Tensor", "aten.add.Scalar"},
    {"sub", "aten.sub.Tensor", "aten.sub.Scalar"},
    {"mul", "aten.mul.Tensor", "aten.mul.Scalar"},
    {"div", "aten.div.Tensor", "aten.div.Scalar"},
    {"pow", "aten.pow.Tensor_Tensor", "aten.pow.Tensor_Scalar"},
    {"maximum", "aten.maximum", "aten.clamp_min"},
    {"minimum", "aten.minimum", "aten.clamp_max"},
    {"clamp_min", "aten.maximum", "aten.clamp_min"},
    {"clamp_max", "aten.minimum", "aten.clamp_max"},
};

const Binary* find_binary(std::string_view name) {
  const auto* found = std::ranges::find(kBinary, name, &Binary::name);
  return found != std::end(kBinary) ? found : nullptr;
}

/// Splits an op name: "aten._foreach_add_.List" is add with overload List.
struct Name {
  std::string_view name, overload;

  explicit Name(std::string_view op) {
    op.remove_prefix(kPrefix.size());
    const auto dot = op.find('.');
    name = op.substr(0, dot);
    if (dot != std::string_view::npos) overload = op.substr(dot + 1);
    if (name.ends_with('_')) name.remove_suffix(1);
  }
  bool is_unary() const { return overload.empty() && std::ranges::find(kUnary, name) != kUnary.end(); }
};

/// Argument `at` for element i: its element i if it is a list, otherwise the argument itself.
const ir::Arg& element(const Call& call, size_t at, size_t i) {
  const auto* list = call.arg(at).as<ir::Arg::List>();
  if (list != nullptr && i >= list->size()) throw NotHandled();
  return list != nullptr ? (*list)[i] : call.arg(at);
}

/// Only without type promotion does the single op return the same as the list op.
void refuse_promotion(const Call& call, const std::vector<ir::Arg>& args, const ir::TensorType& result) {
  for (const auto& arg : args) {
    const auto* id = arg.as<Value>();
    if (id != nullptr && call.type(*id).dtype != result.dtype) throw NotHandled();
    const bool is_real = arg.as<double>() != nullptr || arg.as<ir::Real>() != nullptr;
    if (is_real && !ir::is_floating(result.dtype)) throw NotHandled();
    if (arg == ir::Arg()) throw NotHandled();
  }
}

void emit_each(Builder& b, const Call& call, size_t i, std::string_view op, std::vector<ir::Arg> args,
               std::vector<ir::NamedArg> attrs = {}) {
  refuse_promotion(call, args, call.output_type(i));
  b.emit_as(call.output(i), std::string(op), std::move(args), std::move(attrs));
}

void binary(Builder& b, const Call& call, size_t i, const Binary& op) {
  const auto& x = element(call, 0, i);
  const auto& y = element(call, 1, i);
  const bool is_tensor = y.as<Value>() != nullptr;
  const auto& alpha = call.keyword("alpha").as<ir::None>() != nullptr ? call.arg(2) : call.keyword("alpha");
  std::vector<ir::NamedArg> attrs;
  if (!(alpha == ir::Arg())) attrs.push_back({"alpha", alpha});
  emit_each(b, call, i, is_tensor ? op.with_tensor : op.with_number, {x, y}, std::move(attrs));
}

void add_product(Builder& b, const Call& call, size_t i, bool divides) {
  const auto dtype = wide(call.output_type(i).dtype);
  const auto operand = [&](size_t at) { return b.to(call.tensors(at).at(i), dtype); };
  const auto& value = element(call, 3, i);
  const double factor = value == ir::Arg() ? 1 : number_of(value);
  b.define(call.output(i), add_product_of(b, operand(0), operand(1), operand(2), factor, divides));
}

void lerp(Builder& b, const Call& call, size_t i) {
  const auto& weight = element(call, 2, i);
  const auto* op = weight.as<Value>() != nullptr ? "aten.lerp.Tensor" : "aten.lerp.Scalar";
  emit_each(b, call, i, op, {element(call, 0, i), element(call, 1, i), weight});
}

void norm(Builder& b, const Call& call, size_t i) {
  const auto x = b.to(call.tensors(0).at(i), wide(call.output_type(i).dtype));
  b.define(call.output(i), norm_of(b, x, call.number(1, 2), b.all_dims(x), false));
}

void largest(Builder& b, const Call& call, size_t i) {
  const auto x = call.tensors(0).at(i);
  b.define(call.output(i), b.reduce("aten.amax", x, b.all_dims(x), false));
}

void copy(Builder& b, const Call& call, size_t i) {
  const auto source = call.tensors(1).at(i);
  if (ir::is_floating(call.type(source).dtype) != ir::is_floating(call.output_type(i).dtype))
    throw NotHandled();
  b.define(call.output(i), b.expand(source, call.output_type(i).sizes));
}

void zero(Builder& b, const Call& call, size_t i) {
  const auto& type = call.output_type(i);
  b.define(call.output(i), b.full(type.sizes, type.dtype, type.device, 0));
}

void foreach (Builder& b, const Call& call) {
  const Name op(call.node().op);
  for (size_t i = 0; i < call.output_count(); ++i) {
    if (op.is_unary())
      emit_each(b, call, i, "aten." + std::string(op.name), {element(call, 0, i)});
    else if (op.overload == "ScalarAndTensor")
      emit_each(b, call, i, "aten.pow.Scalar", {call.arg(0), element(call, 1, i)});
    else if (const auto* two = find_binary(op.name))
      binary(b, call, i, *two);
    else if (op.name == "addcmul" || op.name == "addcdiv")
      add_product(b, call, i, op.name == "addcdiv");
    else if (op.name == "lerp")
      lerp(b, call, i);
    else if (op.name == "norm")
      norm(b, call, i);
    else if (op.name == "max")
      largest(b, call, i);
    else if (op.name == "copy")
      copy(b, call, i);
    else if (op.name == "zero")
      zero(b, call, i);
    else
      throw NotHandled();
  }
}

}  // namespace

Decomposition foreach_decomposition(std::string_view op) {
  return op.starts_with(kPrefix) ? foreach : nullptr;
}

}  // namespace antegrad::passes
