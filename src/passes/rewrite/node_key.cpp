#include "passes/rewrite/node_key.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <string_view>
#include <type_traits>

namespace antegrad::passes {
namespace {

void mix(size_t& seed, size_t value) { seed ^= value + 0x9e3779b97f4a7c15ULL + (seed << 6) + (seed >> 2); }

size_t hash_bytes(const ir::Bytes& bytes) {
  if (bytes == nullptr) return 0;
  return std::hash<std::string_view>{}({reinterpret_cast<const char*>(bytes->data()), bytes->size()});
}

/// Hash of a literal. Kinds with few distinct values and nested graphs are hashed by kind only; equality
/// decides.
struct HashLiteral {
  size_t operator()(bool value) const { return value ? 1 : 2; }
  size_t operator()(const ir::Dim& value) const { return value.hash(); }
  size_t operator()(double value) const { return std::hash<uint64_t>{}(std::bit_cast<uint64_t>(value)); }
  size_t operator()(const ir::Real& value) const {
    size_t seed = ordinal(value.form);
    mix(seed, (*this)(value.scale));
    mix(seed, value.dim.hash());
    return seed;
  }
  size_t operator()(const std::complex<double>& value) const {
    size_t seed = (*this)(value.real());
    mix(seed, (*this)(value.imag()));
    return seed;
  }
  size_t operator()(const std::string& value) const { return std::hash<std::string>{}(value); }
  size_t operator()(const ir::Bytes& value) const { return hash_bytes(value); }
  template <class T>
  size_t operator()(const T& value) const {
    if constexpr (std::is_enum_v<T>) return ordinal(value);
    return 0;
  }
};

}  // namespace

size_t NodeKey::hash(const ir::Arg& arg) const {
  size_t seed = arg.v.index();
  if (const auto* id = arg.as<ir::ValueId>()) {
    mix(seed, number(*id).position());
  } else if (const auto* list = arg.as<ir::Arg::List>()) {
    for (const auto& element : *list) mix(seed, hash(element));
  } else {
    mix(seed, std::visit(HashLiteral{}, arg.v));
  }
  return seed;
}

size_t NodeKey::hash(const ir::Node& node) const {
  size_t seed = std::hash<std::string>{}(node.op);
  for (const auto& arg : node.args) mix(seed, hash(arg));
  for (const auto& attr : node.attrs) mix(seed, hash(attr.value));
  mix(seed, node.outputs.size());
  if (node.outputs.empty()) return seed;
  const auto* tensor = graph_.type_of(node.outputs.front()).tensor();
  if (tensor == nullptr) return seed;
  mix(seed, ordinal(tensor->dtype));
  for (const auto& size : tensor->sizes) mix(seed, size.hash());
  return seed;
}

bool NodeKey::equal(const ir::Arg& a, const ir::Arg& b) const {
  if (a.v.index() != b.v.index()) return false;
  if (const auto* id = a.as<ir::ValueId>()) return number(*id) == number(*b.as<ir::ValueId>());
  if (const auto* list = a.as<ir::Arg::List>())
    return std::ranges::equal(*list, *b.as<ir::Arg::List>(),
                              [&](const ir::Arg& x, const ir::Arg& y) { return equal(x, y); });
  return a == b;
}

bool NodeKey::equal_outputs(const ir::Node& a, const ir::Node& b) const {
  return std::ranges::equal(a.outputs, b.outputs, [&](ir::ValueId x, ir::ValueId y) {
    return graph_.type_of(x) == graph_.type_of(y);
  });
}

bool NodeKey::equal(const ir::Node& a, const ir::Node& b) const {
  return a.op == b.op && a.returns == b.returns && a.functional == b.functional && equal_outputs(a, b) &&
         std::ranges::equal(a.args, b.args,
                            [&](const ir::Arg& x, const ir::Arg& y) { return equal(x, y); }) &&
         std::ranges::equal(a.attrs, b.attrs, [&](const ir::NamedArg& x, const ir::NamedArg& y) {
           return x.name == y.name && equal(x.value, y.value);
         });
}

}  // namespace antegrad::passes
