#include "passes/evaluate/literal.h"

#include <algorithm>

namespace antegrad::passes {
namespace {

std::optional<std::vector<int64_t>> small_sizes(const std::vector<ir::Dim>& dims) {
  std::vector<int64_t> sizes;
  int64_t numel = 1;
  bool empty = false;
  for (const auto& dim : dims) {
    if (!dim.is_constant() || dim.constant() < 0) return std::nullopt;
    sizes.push_back(dim.constant());
    empty = empty || dim.constant() == 0;
    numel =
        std::min(numel * std::clamp<int64_t>(dim.constant(), 1, kLargestLiteral + 1), kLargestLiteral + 1);
  }
  if (!empty && numel > kLargestLiteral) return std::nullopt;
  return sizes;
}

}  // namespace

int64_t Literal::numel() const {
  int64_t count = 1;
  for (auto size : sizes) count = size == 0 ? 0 : count * size;
  return count;
}

std::optional<Literal> empty_literal(const ir::TensorType& type) {
  auto sizes = small_sizes(type.sizes);
  if (!sizes || type.device.kind != ir::Device::Kind::Cpu) return std::nullopt;
  if (!with_element_type(type.dtype, [](auto) { return true; })) return std::nullopt;
  Literal literal{type.dtype, std::move(*sizes), {}};
  const bool empty = std::ranges::find(literal.sizes, 0) != literal.sizes.end();
  const auto numel = empty ? 0 : literal.numel();
  literal.data.resize(numel * ir::size_in_bytes(type.dtype));
  return literal;
}

std::optional<Literal> literal_of_constant(const ir::Graph& graph, const ir::Node& node) {
  if (node.op != "antegrad.constant" || node.outputs.size() != 1) return std::nullopt;
  const auto* type = graph.type_of(node.outputs.front()).tensor();
  if (type == nullptr) return std::nullopt;
  auto literal = empty_literal(*type);
  const auto data = std::ranges::find(node.attrs, "data", &ir::NamedArg::name);
  if (!literal || data == node.attrs.end()) return std::nullopt;
  const auto* bytes = data->value.as<ir::Bytes>();
  if (bytes == nullptr || *bytes == nullptr || (*bytes)->size() != literal->data.size()) return std::nullopt;
  literal->data = **bytes;
  return literal;
}

Walk Walk::over(const std::vector<int64_t>& sizes) {
  Walk walk{sizes, std::vector<int64_t>(sizes.size()), 0};
  int64_t stride = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    walk.strides[d] = stride;
    stride *= std::max<int64_t>(sizes[d], 1);
  }
  return walk;
}

std::optional<Walk> Walk::broadcast_to(const std::vector<int64_t>& target) const {
  if (target.size() < sizes.size()) return std::nullopt;
  Walk walk{target, std::vector<int64_t>(target.size()), offset};
  const size_t added = target.size() - sizes.size();
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == target[added + d]) {
      walk.strides[added + d] = strides[d];
    } else if (sizes[d] != 1) {
      return std::nullopt;
    }
  }
  return walk;
}

}  // namespace antegrad::passes
