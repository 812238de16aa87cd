#include "passes/rewrite/call.h"

#include <numeric>

namespace antegrad::passes {
double number_of(const ir::Arg& arg) {
  if (const auto* value = arg.as<double>()) return *value;
  if (const auto* flag = arg.as<bool>()) return *flag ? 1 : 0;
  const auto* dim = arg.as<ir::Dim>();
  if (dim == nullptr || !dim->is_constant()) throw NotHandled();
  return static_cast<double>(dim->constant());
}

namespace {

template <class T>
T value_or_unusual(const std::optional<T>& value) {
  if (!value) throw NotHandled();
  return *value;
}

}  // namespace

const ir::Arg& Call::arg(size_t i) const {
  static const auto& none = *new const ir::Arg();
  return i < node_.args.size() ? node_.args[i] : none;
}

const ir::Arg& Call::keyword(std::string_view name) const {
  static const auto& none = *new const ir::Arg();
  for (const auto& attr : node_.attrs)
    if (attr.name == name) return attr.value;
  return none;
}

double Call::keyword_number(std::string_view name, double fallback) const {
  const auto& given = keyword(name);
  return given == ir::Arg() ? fallback : number_of(given);
}

ir::TensorType Call::type(ir::ValueId id) const {
  const auto* type = graph_.type_of(id).tensor();
  if (type == nullptr) throw NotHandled();
  return *type;
}

bool Call::has_output(size_t i) const {
  return i < node_.outputs.size() && graph_.type_of(node_.outputs[i]).tensor() != nullptr;
}

ir::ValueId Call::optional_tensor(size_t i) const {
  if (arg(i).as<ir::None>() != nullptr) return {};
  const auto* id = arg(i).as<ir::ValueId>();
  if (id == nullptr) throw NotHandled();
  return graph_.type_of(*id).tensor() != nullptr ? *id : ir::ValueId();
}

ir::ValueId Call::tensor(size_t i) const {
  const auto id = optional_tensor(i);
  if (!id.valid()) throw NotHandled();
  return id;
}

std::vector<ir::ValueId> Call::tensors(size_t i) const {
  const auto* list = arg(i).as<ir::Arg::List>();
  if (list == nullptr) throw NotHandled();
  std::vector<ir::ValueId> out;
  for (const auto& element : *list) {
    const auto* id = element.as<ir::ValueId>();
    if (id == nullptr || graph_.type_of(*id).tensor() == nullptr) throw NotHandled();
    out.push_back(*id);
  }
  return out;
}

double Call::number(size_t i, std::optional<double> fallback) const {
  return arg(i).as<ir::None>() != nullptr ? value_or_unusual(fallback) : number_of(arg(i));
}

ir::Dim Call::dim(size_t i, std::optional<ir::Dim> fallback) const {
  if (arg(i).as<ir::None>() != nullptr) return value_or_unusual(fallback);
  const auto* given = arg(i).as<ir::Dim>();
  if (given == nullptr) throw NotHandled();
  return *given;
}

int64_t Call::integer(size_t i, std::optional<int64_t> fallback) const {
  const auto given = dim(i, fallback);
  if (!given.is_constant()) throw NotHandled();
  return given.constant();
}

bool Call::flag(size_t i, std::optional<bool> fallback) const {
  if (arg(i).as<ir::None>() != nullptr) return value_or_unusual(fallback);
  const auto* value = arg(i).as<bool>();
  if (value == nullptr) throw NotHandled();
  return *value;
}

std::vector<ir::Dim> Call::dims(size_t i) const {
  if (arg(i).as<ir::None>() != nullptr) return {};
  if (const auto* dim = arg(i).as<ir::Dim>()) return {*dim};
  const auto* list = arg(i).as<ir::Arg::List>();
  if (list == nullptr) throw NotHandled();
  std::vector<ir::Dim> out;
  for (const auto& element : *list) {
    const auto* dim = element.as<ir::Dim>();
    if (dim == nullptr) throw NotHandled();
    out.push_back(*dim);
  }
  return out;
}

std::vector<int64_t> Call::integers(size_t i) const {
  std::vector<int64_t> out;
  for (const auto& dim : dims(i)) {
    if (!dim.is_constant()) throw NotHandled();
    out.push_back(dim.constant());
  }
  return out;
}

std::vector<int64_t> Call::dims_or_all(size_t i, size_t rank) const {
  auto dims = integers(i);
  for (auto& dim : dims) dim = wrapped(dim, rank);
  if (!dims.empty()) return dims;
  dims.resize(rank);
  std::iota(dims.begin(), dims.end(), 0);
  return dims;
}

int64_t Call::wrapped(int64_t dim, size_t rank) {
  const auto count = static_cast<int64_t>(rank);
  if (dim < -count || dim >= count) throw NotHandled();
  return dim < 0 ? dim + count : dim;
}

}  // namespace antegrad::passes
