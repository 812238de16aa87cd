#include "passes/evaluate/evaluate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

namespace antegrad::passes {
namespace {

const std::unordered_map<std::string_view, Evaluator>& evaluators() {
  static const auto& table = *new const auto([] {
    std::unordered_map<std::string_view, Evaluator> all;
    for (const auto* group : {&pointwise_evaluators(), &layout_evaluators(), &factory_evaluators()})
      for (const auto& entry : *group) all.emplace(entry.op, entry.evaluate);
    return all;
  }());
  return table;
}

template <class T>
std::optional<T> integer_as(int64_t value) {
  if constexpr (std::is_same_v<T, Bool>) {
    if (value != 0 && value != 1) return std::nullopt;
    return static_cast<Bool>(value);
  } else if constexpr (std::is_integral_v<T>) {
    if (value < std::numeric_limits<T>::min() || value > std::numeric_limits<T>::max()) return std::nullopt;
    return static_cast<T>(value);
  } else {
    constexpr int64_t kExact = int64_t{1} << std::numeric_limits<T>::digits;
    if (value < -kExact || value > kExact) return std::nullopt;
    return static_cast<T>(value);
  }
}

template <class T>
std::optional<T> real_as(double value) {
  if constexpr (std::is_floating_point_v<T>) {
    const auto rounded = static_cast<T>(value);
    if (std::isnan(value) || std::isinf(rounded) != std::isinf(value)) return std::nullopt;
    return rounded;
  } else {
    constexpr double kExact =
        9007199254740992.0;  // 2^53: beyond it a double may not be the integer that was meant
    if (!(std::abs(value) <= kExact) || value != std::trunc(value)) return std::nullopt;
    return integer_as<T>(static_cast<int64_t>(value));
  }
}

}  // namespace

const ir::TensorType& KnownCall::result_type() const { return graph_.tensor_type(node_.outputs.front()); }

const ir::Arg& KnownCall::arg(size_t position) const {
  static const auto& none = *new const ir::Arg();
  return position < node_.args.size() ? node_.args[position] : none;
}

const ir::Arg* KnownCall::attr(std::string_view name) const {
  const auto found = std::ranges::find(node_.attrs, name, &ir::NamedArg::name);
  return found == node_.attrs.end() ? nullptr : &found->value;
}

const Literal* KnownCall::tensor(size_t position) const {
  const auto* id = arg(position).as<ir::ValueId>();
  if (id == nullptr) return nullptr;
  const auto& literal = known_[*id];
  return literal ? &*literal : nullptr;
}

std::optional<int64_t> KnownCall::integer(size_t position) const {
  const auto* dim = arg(position).as<ir::Dim>();
  if (dim == nullptr || !dim->is_constant()) return std::nullopt;
  return dim->constant();
}

std::optional<int64_t> KnownCall::integer_or(size_t position, int64_t otherwise) const {
  if (arg(position).as<ir::None>() != nullptr) return otherwise;
  return integer(position);
}

template <class T>
std::optional<T> number_as(const ir::Arg& arg) {
  if (const auto* flag = arg.as<bool>()) return integer_as<T>(*flag ? 1 : 0);
  if (const auto* real = arg.as<double>()) return real_as<T>(*real);
  const auto* dim = arg.as<ir::Dim>();
  if (dim == nullptr || !dim->is_constant()) return std::nullopt;
  return integer_as<T>(dim->constant());
}
template std::optional<float> number_as<float>(const ir::Arg&);
template std::optional<double> number_as<double>(const ir::Arg&);
template std::optional<int64_t> number_as<int64_t>(const ir::Arg&);
template std::optional<int32_t> number_as<int32_t>(const ir::Arg&);
template std::optional<Bool> number_as<Bool>(const ir::Arg&);

std::optional<Literal> evaluate(const ir::Graph& graph, const ir::Node& node,
                                const ir::PerValue<std::optional<Literal>>& known) {
  const auto entry = evaluators().find(node.op);
  if (entry == evaluators().end() || node.outputs.size() != 1) return std::nullopt;
  const auto* type = graph.type_of(node.outputs.front()).tensor();
  if (type == nullptr) return std::nullopt;
  const auto shape = empty_literal(*type);
  if (!shape) return std::nullopt;
  auto result = entry->second(KnownCall(graph, node, known));
  if (!result || result->dtype != shape->dtype || result->sizes != shape->sizes) return std::nullopt;
  return result;
}

}  // namespace antegrad::passes
