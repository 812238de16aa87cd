#include "ir/substitute.h"

#include <cstring>

namespace antegrad::ir {
namespace {

/// Returns the object representation of a number.
Bytes contents(const Arg& number) {
  std::vector<uint8_t> bytes(sizeof(int64_t));
  if (const auto* real = number.as<double>()) {
    std::memcpy(bytes.data(), real, sizeof(double));
  } else {
    const auto integer = std::get<Dim>(number.v).constant();
    std::memcpy(bytes.data(), &integer, sizeof(int64_t));
  }
  return std::make_shared<const std::vector<uint8_t>>(std::move(bytes));
}

class Substitution {
 public:
  explicit Substitution(const std::vector<int64_t>& values)
      : value_of_([&values](int32_t s) { return values[s]; }) {}

  void apply(Dim& dim) const {
    if (!dim.is_constant()) dim = dim.evaluate(value_of_);
  }
  void apply(TensorType& type) const {
    for (auto& size : type.sizes) apply(size);
    for (auto& stride : type.strides) apply(stride);
    apply(type.offset);
  }
  void apply(Arg& arg) const {
    if (auto* dim = std::get_if<Dim>(&arg.v)) {
      apply(*dim);
    } else if (const auto* real = std::get_if<Real>(&arg.v)) {
      arg = real->evaluate(value_of_);
    } else if (auto* list = std::get_if<Arg::List>(&arg.v)) {
      for (auto& element : *list) apply(element);
    }
  }
  void apply(Node& node) const {
    for (auto& arg : node.args) apply(arg);
    for (auto& attr : node.attrs) apply(attr.value);
    if (node.op != "antegrad.constant") return;
    for (auto& attr : node.attrs)
      if (attr.name == "value") attr = {"data", contents(attr.value)};
  }

 private:
  Dim::Assignment value_of_;
};

}  // namespace

Node substitute(const Node& node, const std::vector<int64_t>& values) {
  auto out = node;
  Substitution(values).apply(out);
  return out;
}

Arg substitute(const Arg& arg, const std::vector<int64_t>& values) {
  auto out = arg;
  Substitution(values).apply(out);
  return out;
}

TensorType substitute(const TensorType& type, const std::vector<int64_t>& values) {
  auto out = type;
  Substitution(values).apply(out);
  return out;
}

Graph substitute(const Graph& graph, const std::vector<int64_t>& values) {
  auto out = graph;
  const Substitution substitution(values);
  for (auto& value : out.values)
    if (auto* tensor = value.type.tensor()) substitution.apply(*tensor);
  for (auto& node : out.nodes) substitution.apply(node);
  out.symbols.clear();
  return out;
}

}  // namespace antegrad::ir
