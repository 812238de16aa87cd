#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "symbolic/shapes.h"

namespace antegrad::symbolic {

/// Sizes and strides of a tensor, borrowed.
struct ShapeView {
  const int64_t* sizes = nullptr;
  const int64_t* strides = nullptr;
  size_t rank = 0;
};

/// The guard of a captured program on shapes: predicates over the symbols, prepared to be checked in
/// nanoseconds.
class ShapeGuard {
 public:
  explicit ShapeGuard(Shapes shapes);

  const Shapes& shapes() const { return shapes_; }
  size_t symbols() const { return shapes_.symbols.size(); }
  /// Returns whether the shapes of a call satisfy the guard, and stores the values of the symbols in
  /// `values`. `view(i)` returns tensor i, which must be defined exactly if the captured one was.
  template <class View>
  bool holds(const View& view, int64_t* values) const {
    for (const auto& rule : rules_)
      if (!check(rule, view(rule.tensor), values)) return false;
    return true;
  }
  std::string failure(const std::vector<ShapeView>& tensors) const;  ///< the first predicate that fails
  std::string to_string() const;                                     ///< one predicate per line

 private:
  /// A predicate on one size or stride: binds a symbol, or checks a value.
  struct Rule {
    enum class Kind : uint8_t { Rank, Constant, Bind, Symbol, Product, Expression } kind = Kind::Constant;
    size_t tensor = 0;
    size_t dim = 0;
    bool stride = false;
    int64_t number = 0;  ///< the constant or the rank; Bind, Product: the factor
    int64_t offset = 0;  ///< Bind: value == number * symbol + offset
    std::vector<int32_t> symbols;
    ir::Dim dim_expression;
  };
  void add_rules(size_t tensor, size_t dim, bool stride, const ir::Dim& expression);
  bool check(const Rule& rule, const ShapeView& tensor, int64_t* values) const;
  std::string text(const Rule& rule) const;

  Shapes shapes_;
  std::vector<Rule> rules_;
  std::vector<bool> bound_;
};

}  // namespace antegrad::symbolic
