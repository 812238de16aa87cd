#include "passes/random/random_draws.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "util/philox.h"

namespace antegrad::passes {
namespace {

constexpr std::string_view kUniform = "antegrad.random_uniform", kNormal = "antegrad.random_normal",
                           kBernoulli = "antegrad.random_bernoulli", kInt = "antegrad.random_int",
                           kExponential = "antegrad.random_exponential",
                           kGeometric = "antegrad.random_geometric", kCauchy = "antegrad.random_cauchy",
                           kLogNormal = "antegrad.random_log_normal";

/// The position of a parameter among the arguments (-1 if it is not an argument), and its default; NaN if it
/// is required.
struct Parameter {
  int position = -1;
  double fallback = std::numeric_limits<double>::quiet_NaN();
};
struct Row {
  std::string_view op;
  std::vector<Parameter> parameters;
};

const std::unordered_map<std::string_view, Row>& table() {
  static const auto& rows = *new const std::unordered_map<std::string_view, Row>([] {
    const Row unit{kUniform, {{-1, 0}, {-1, 1}}}, uniform{kUniform, {{1, 0}, {2, 1}}};
    const Row standard{kNormal, {{-1, 0}, {-1, 1}}}, normal{kNormal, {{1, 0}, {2, 1}}};
    const Row mean_and_std{kNormal, {{0}, {1, 1}}};
    const Row coin{kBernoulli, {{1, 0.5}}};
    const Row exponential{kExponential, {{1, 1}}}, geometric{kGeometric, {{1}}};
    const Row cauchy{kCauchy, {{1, 0}, {2, 1}}}, log_normal{kLogNormal, {{1, 1}, {2, 2}}};
    return std::unordered_map<std::string_view, Row>{
        {"aten.rand", unit},
        {"aten.rand.out", unit},
        {"aten.rand_like", unit},
        {"aten.uniform", uniform},
        {"aten.uniform_", uniform},
        {"aten.randn", standard},
        {"aten.randn.out", standard},
        {"aten.randn_like", standard},
        {"aten.normal_", normal},
        {"aten.normal_functional", normal},
        {"aten.normal.float_float", mean_and_std},
        {"aten.normal.Tensor_float", mean_and_std},
        {"aten.normal.float_Tensor", mean_and_std},
        {"aten.normal.Tensor_Tensor", mean_and_std},
        {"aten.bernoulli", {kBernoulli, {{0}}}},
        {"aten.bernoulli.p", coin},
        {"aten.bernoulli.Tensor", coin},
        {"aten.bernoulli_.float", coin},
        {"aten.bernoulli_.Tensor", coin},
        {"aten.exponential", exponential},
        {"aten.exponential_", exponential},
        {"aten.geometric", geometric},
        {"aten.geometric_", geometric},
        {"aten.cauchy", cauchy},
        {"aten.cauchy_", cauchy},
        {"aten.log_normal", log_normal},
        {"aten.log_normal_", log_normal},
    };
  }());
  return rows;
}

/// Significant bits of a floating type: integers up to 2^digits are exact.
int digits_of(ir::DType dtype) {
  switch (dtype) {
    case ir::DType::F16:
      return 11;
    case ir::DType::BF16:
      return 8;
    case ir::DType::F32:
      return 24;
    default:
      return 53;
  }
}

double largest(ir::DType dtype) {
  switch (dtype) {
    case ir::DType::F16:
      return 65504;
    case ir::DType::BF16:
      return 0x1.fep127;
    case ir::DType::F32:
      return std::numeric_limits<float>::max();
    default:
      return std::numeric_limits<double>::max();
  }
}

bool is_supported_float(ir::DType dtype) {
  return dtype == ir::DType::F32 || dtype == ir::DType::F64 || dtype == ir::DType::F16 ||
         dtype == ir::DType::BF16;
}

bool is_supported_integer(ir::DType dtype) {
  return dtype == ir::DType::U8 || dtype == ir::DType::I8 || dtype == ir::DType::I16 ||
         dtype == ir::DType::I32 || dtype == ir::DType::I64 || dtype == ir::DType::Bool;
}

/// The integers that random_int may draw for a type: all that it represents exactly.
struct Integers {
  int64_t least, most;
};
Integers integers_of(ir::DType dtype) {
  if (is_supported_float(dtype)) return {-(int64_t{1} << digits_of(dtype)), int64_t{1} << digits_of(dtype)};
  if (dtype == ir::DType::Bool) return {0, 1};
  if (dtype == ir::DType::U8) return {0, 255};
  const auto most = std::numeric_limits<int64_t>::max() >> (64 - 8 * ir::size_in_bytes(dtype));
  return {-most - 1, most};
}

std::optional<int64_t> constant_integer(const ir::Arg& arg) {
  const auto* dim = arg.as<ir::Dim>();
  return dim != nullptr && dim->is_constant() ? std::optional(dim->constant()) : std::nullopt;
}

std::optional<double> number(const ir::Arg& arg) {
  if (const auto* value = arg.as<double>()) return *value;
  if (const auto value = constant_integer(arg)) return static_cast<double>(*value);
  return std::nullopt;
}

bool overlaps_itself(const ir::TensorType& type) {
  for (size_t d = 0; d < type.sizes.size(); ++d)
    if (type.strides[d] == ir::Dim(0) && !(type.sizes[d] == ir::Dim(1))) return true;
  return false;
}

/// The end of a range that includes `most`; none if there is no larger integer.
ir::Arg after(int64_t most) {
  return most == std::numeric_limits<int64_t>::max() ? ir::Arg() : ir::Arg(most + 1);
}

/// Handles the ops that draw integers.
std::optional<RandomDraw> integer_draw(const ir::Node& node, const ir::TensorType& type) {
  constexpr int kZero = -1;
  const auto& args = node.args;
  const auto bounds = [&](int low, int high) -> std::optional<RandomDraw> {
    if (std::max(low, high) >= static_cast<int>(args.size())) return std::nullopt;
    return RandomDraw{kInt, {low == kZero ? ir::Arg(0) : args[low], args[high]}};
  };
  const std::string_view op = node.op;
  const auto top = after(integers_of(type.dtype).most);
  if (op == "aten.random" || op == "aten.random_") return RandomDraw{kInt, {0, top}};
  if (op == "aten.random.to" || op == "aten.random_.to" || op == "aten.randint_like") return bounds(kZero, 1);
  if (op == "aten.randint" || op == "aten.randint.out") return bounds(kZero, 0);
  if (op == "aten.randint.low" || op == "aten.randint.low_out") return bounds(0, 1);
  if (op == "aten.randint_like.low_dtype") return bounds(1, 2);
  if (op != "aten.random.from" && op != "aten.random_.from") return std::nullopt;
  const bool open = args.size() == 2 || (args.size() == 3 && args[2].as<ir::None>());
  return open ? RandomDraw{kInt, {args[1], top}} : bounds(1, 2);
}

std::optional<RandomDraw> table_draw(const ir::Node& node) {
  const auto found = table().find(node.op);
  if (found == table().end()) return std::nullopt;
  RandomDraw draw{found->second.op, {}};
  for (const auto& [position, fallback] : found->second.parameters) {
    const size_t at = position;
    if (position >= 0 && at < node.args.size())
      draw.parameters.push_back(node.args[at]);
    else if (!std::isnan(fallback))
      draw.parameters.emplace_back(fallback);
    else
      return std::nullopt;
  }
  return draw;
}

bool integers_fit(const RandomDraw& draw, ir::DType dtype) {
  const auto low = constant_integer(draw.parameters[0]);
  const auto [least, most] = integers_of(dtype);
  if (!low || *low < least) return false;
  if (draw.parameters[1].as<ir::None>()) return dtype == ir::DType::I64;
  const auto high = constant_integer(draw.parameters[1]);
  return high && *low < *high && *high - 1 <= most;
}

bool is_floating_tensor(const ir::Graph& graph, const ir::Arg& arg) {
  const auto* id = arg.as<ir::ValueId>();
  const auto* type = id == nullptr ? nullptr : graph.type_of(*id).tensor();
  return type != nullptr && is_supported_float(type->dtype) && type->device.kind == ir::Device::Kind::Cpu;
}

/// Whether numbers of this kind can be drawn on the device: on CUDA devices those that kernels draw, since
/// the others would be drawn on the host.
bool device_fits(const RandomDraw& draw, const ir::Device& device) {
  if (device.kind == ir::Device::Kind::Cpu) return true;
  return device.kind == ir::Device::Kind::Cuda && (draw.op == kBernoulli || draw.op == kNormal) &&
         std::ranges::all_of(draw.parameters, [](const ir::Arg& arg) { return number(arg).has_value(); });
}

/// LibTorch's checks of distributions, for parameters that are numbers.
bool numbers_fit(std::string_view op, double a, double b, ir::DType dtype) {
  if (op == kUniform) {
    const auto limit = largest(dtype);
    return a <= b && std::abs(a) <= limit && std::abs(b) <= limit && b - a <= limit;
  }
  if (op == kBernoulli) return a >= 0 && a <= 1;
  if (op == kGeometric) return a > 0 && a < 1;
  if (op == kExponential) return a > 0 && std::isfinite(a);
  return std::isfinite(a) && std::isfinite(b) && (op == kNormal ? b >= 0 : b > 0);
}

bool parameters_fit(const ir::Graph& graph, const RandomDraw& draw, ir::DType dtype) {
  if (draw.op == kInt) return integers_fit(draw, dtype);
  double values[2] = {0, 1};
  for (size_t i = 0; i < draw.parameters.size(); ++i) {
    const auto value = number(draw.parameters[i]);
    const bool may_be_tensor = draw.op == kNormal || draw.op == kBernoulli;
    if (value)
      values[i] = *value;
    else if (!may_be_tensor || !is_floating_tensor(graph, draw.parameters[i]))
      return false;
  }
  return numbers_fit(draw.op, values[0], values[1], dtype);
}

/// Whether all keyword arguments are determined by the type of the result, or say where it goes.
bool has_only_plain_attributes(const ir::Node& node) {
  return std::ranges::all_of(node.attrs, [](const ir::NamedArg& attr) {
    return attr.name == "dtype" || attr.name == "device" || attr.name == "layout" ||
           attr.name == "memory_format" || attr.name == "out";
  });
}

/// Whether an element takes two words of random bits.
bool takes_two_words(const RandomDraw& draw, ir::DType dtype) {
  if (dtype == ir::DType::F64) return true;
  if (draw.op != kInt) return false;
  const auto high = constant_integer(draw.parameters[1]);
  return !philox::is_one_word_range(philox::range(*constant_integer(draw.parameters[0]), high));
}

}  // namespace

bool can_draw(const ir::Graph& graph, const RandomDraw& draw, const ir::TensorType& type) {
  const bool integers = draw.op == kInt || draw.op == kBernoulli || draw.op == kGeometric;
  const bool dtype_fits = is_supported_float(type.dtype) || (integers && is_supported_integer(type.dtype));
  if (draw.op == kGeometric && type.dtype == ir::DType::Bool) return false;
  return dtype_fits && device_fits(draw, type.device) && !overlaps_itself(type) &&
         parameters_fit(graph, draw, type.dtype);
}

std::optional<RandomDraw> random_draw(const ir::Graph& graph, const ir::Node& node) {
  if (node.outputs.size() != 1 || !has_only_plain_attributes(node)) return std::nullopt;
  const auto* type = graph.type_of(node.outputs[0]).tensor();
  if (type == nullptr || !(is_supported_float(type->dtype) || is_supported_integer(type->dtype)))
    return std::nullopt;
  auto draw = table_draw(node);
  if (!draw) draw = integer_draw(node, *type);
  if (!draw || !can_draw(graph, *draw, *type)) return std::nullopt;
  return draw;
}

ir::Dim counters_used(const RandomDraw& draw, const ir::TensorType& type) {
  const int64_t per_counter = takes_two_words(draw, type.dtype) ? 2 : 4;
  return floor_div(type.numel() + (per_counter - 1), per_counter);
}

}  // namespace antegrad::passes
