#include "symbolic/shape_guard.h"

#include <fmt/format.h>

#include <algorithm>

namespace antegrad::symbolic {
namespace {

using ir::Dim;

/// Matches factor * s * t * …; returns nothing for other expressions.
std::optional<std::pair<int64_t, std::vector<int32_t>>> as_product(const Dim& dim) {
  std::vector<int32_t> named;
  dim.collect_symbols(named);
  const auto factor = dim.evaluate([](int32_t) { return 1; });
  if (factor <= 0) return std::nullopt;
  std::pair<int64_t, std::vector<int32_t>> out{factor, {}};
  Dim rebuilt = factor;
  for (auto s : named) {
    auto doubled = dim.evaluate([s](int32_t other) { return other == s ? 2 : 1; });
    for (; doubled > factor && doubled % 2 == 0; doubled /= 2) {
      out.second.push_back(s);
      rebuilt = rebuilt * Dim::symbol(s);
    }
  }
  if (rebuilt != dim) return std::nullopt;
  return out;
}

}  // namespace

ShapeGuard::ShapeGuard(Shapes shapes) : shapes_(std::move(shapes)), bound_(shapes_.symbols.size()) {
  for (size_t t = 0; t < shapes_.tensors.size(); ++t) {
    const auto& tensor = shapes_.tensors[t];
    if (!tensor.defined) continue;
    Rule rank;
    rank.kind = Rule::Kind::Rank;
    rank.tensor = t;
    rank.number = static_cast<int64_t>(tensor.sizes.size());
    rules_.push_back(rank);
    for (size_t d = 0; d < tensor.sizes.size(); ++d) add_rules(t, d, false, tensor.sizes[d]);
    for (size_t d = 0; d < tensor.strides.size(); ++d) add_rules(t, d, true, tensor.strides[d]);
  }
  // Rules that need the value of a symbol come after the rule that binds it.
  std::stable_partition(rules_.begin(), rules_.end(), [](const Rule& rule) {
    return rule.kind == Rule::Kind::Rank || rule.kind == Rule::Kind::Bind ||
           rule.kind == Rule::Kind::Constant;
  });
  std::stable_partition(rules_.begin(), rules_.end(),
                        [](const Rule& rule) { return rule.kind == Rule::Kind::Rank; });
}

void ShapeGuard::add_rules(size_t tensor, size_t dim, bool stride, const Dim& expression) {
  Rule rule;
  rule.tensor = tensor;
  rule.dim = dim;
  rule.stride = stride;
  rule.dim_expression = expression;
  const auto affine = as_affine(expression);
  if (expression.is_constant()) {
    rule.kind = Rule::Kind::Constant;
    rule.number = expression.constant();
  } else if (affine && affine->factor > 0 && !bound_[affine->symbol]) {
    rule.kind = Rule::Kind::Bind;
    rule.number = affine->factor;
    rule.offset = affine->offset;
    rule.symbols = {affine->symbol};
    bound_[affine->symbol] = true;
  } else if (const auto symbol = expression.as_symbol()) {
    rule.kind = Rule::Kind::Symbol;
    rule.symbols = {*symbol};
  } else if (auto product = as_product(expression)) {
    rule.kind = Rule::Kind::Product;
    rule.number = product->first;
    rule.symbols = std::move(product->second);
  } else {
    rule.kind = Rule::Kind::Expression;
  }
  rules_.push_back(std::move(rule));
}

bool ShapeGuard::check(const Rule& rule, const ShapeView& tensor, int64_t* values) const {
  if (rule.kind == Rule::Kind::Rank) return std::cmp_equal(tensor.rank, rule.number);
  const auto value = rule.stride ? tensor.strides[rule.dim] : tensor.sizes[rule.dim];
  switch (rule.kind) {
    case Rule::Kind::Constant:
      return value == rule.number;
    case Rule::Kind::Bind: {
      const auto rest = value - rule.offset;
      if (rest % rule.number != 0) return false;
      const size_t symbol = rule.symbols[0];
      values[symbol] = rest / rule.number;
      const auto& range = shapes_.symbols[symbol].range;
      return values[symbol] >= range.lower && values[symbol] <= range.upper;
    }
    case Rule::Kind::Symbol:
      return value == values[rule.symbols[0]];
    case Rule::Kind::Product: {
      auto product = rule.number;
      for (auto s : rule.symbols)
        if (__builtin_mul_overflow(product, values[s], &product)) return false;
      return value == product;
    }
    default:
      return value == rule.dim_expression.evaluate([&](int32_t s) { return values[s]; });
  }
}

std::string ShapeGuard::text(const Rule& rule) const {
  return fmt::format("tensor {} {} {} == {}", rule.tensor, rule.stride ? "stride" : "size", rule.dim,
                     rule.dim_expression.to_string());
}

std::string ShapeGuard::failure(const std::vector<ShapeView>& tensors) const {
  std::vector<int64_t> values(symbols());
  for (const auto& rule : rules_) {
    const auto& tensor = tensors[rule.tensor];
    if (check(rule, tensor, values.data())) continue;
    if (rule.kind == Rule::Kind::Rank)
      return fmt::format("tensor {} has {} dims, had {}", rule.tensor, tensor.rank, rule.number);
    std::string symbols;
    for (auto s : rule.symbols) {
      const auto& range = shapes_.symbols[s].range;
      if (rule.kind == Rule::Kind::Bind)
        symbols += fmt::format(", s{} in {}..{}", s, range.lower,
                               range.upper == ir::Range{}.upper ? "" : std::to_string(range.upper));
      else
        symbols += fmt::format(", s{} = {}", s, values[s]);
    }
    return fmt::format(
        "tensor {} has {} {} at dim {}, the guard is {}{}", rule.tensor, rule.stride ? "stride" : "size",
        rule.stride ? tensor.strides[rule.dim] : tensor.sizes[rule.dim], rule.dim, text(rule), symbols);
  }
  return {};
}

std::string ShapeGuard::to_string() const {
  std::string out;
  for (size_t s = 0; s < shapes_.symbols.size(); ++s) {
    const auto& range = shapes_.symbols[s].range;
    out += fmt::format("s{} >= {}", s, range.lower);
    if (range.upper != ir::Range{}.upper) out += fmt::format(", s{} <= {}", s, range.upper);
    out += "\n";
  }
  for (const auto& rule : rules_) {
    // Row-major strides follow from the sizes.
    if (rule.kind == Rule::Kind::Rank) continue;
    const auto& tensor = shapes_.tensors[rule.tensor];
    if (rule.stride && tensor.strides == ir::contiguous_strides(tensor.sizes)) continue;
    out += text(rule) + "\n";
  }
  return out;
}

}  // namespace antegrad::symbolic
