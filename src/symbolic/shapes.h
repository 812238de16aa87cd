#pragma once
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "ir/dim.h"
#include "ir/graph.h"

namespace antegrad::symbolic {

/// Sizes and strides of one tensor; `defined` is false for an undefined tensor.
struct Shape {
  bool defined = false;
  std::vector<int64_t> sizes, strides;
  bool operator==(const Shape&) const = default;
};
/// The shapes of all tensors of a call.
using CallShapes = std::vector<Shape>;

/// A size that the user has declared dynamic.
struct Mark {
  int32_t tensor = 0;
  int32_t dim = 0;
  ir::Range range{1, std::numeric_limits<int64_t>::max()};
  int64_t multiple = 1;  ///< the size is a multiple of this
  std::string name;      ///< sizes of the same name are equal; without a name, those equal in all calls
};

/// Which sizes are symbols, and how the others depend on them.
struct Shapes {
  struct Tensor {
    bool defined = false;
    std::vector<ir::Dim> sizes, strides;
  };
  std::vector<Tensor> tensors;
  std::vector<ir::Symbol> symbols;  ///< each with its value in the newest call as hint

  bool dynamic() const { return !symbols.empty(); }
  CallShapes at(const std::vector<int64_t>& symbols_values) const;
  std::vector<int64_t> hints() const;
  /// Replaces symbols by expressions. Symbols that no longer occur are removed, the others are renumbered.
  Shapes with(const std::vector<ir::Dim>& replacements) const;
  /// Names the first size or stride that is an affine expression of the symbol, for messages: "tensor 0 size
  /// 1".
  std::string name_of(int32_t symbol) const;
};

/// Decides which sizes become symbols. Sizes that are equal in all calls are constants, unless marked or
/// `all` is set; among the others, those with equal values in all calls share one symbol. Sizes 0 and, with
/// `all`, 1 are constants. `calls` have equal ranks, the newest comes last.
Shapes generalize(const std::vector<CallShapes>& calls, const std::vector<Mark>& marks, bool all);

/// Returns values of the symbols to capture a function at, the hints first. They are distinct and mostly
/// prime, so that relations between them are unlikely to be coincidental.
std::vector<std::vector<int64_t>> assignments(const Shapes& shapes, size_t count);

/// factor * symbol + offset
struct Affine {
  int32_t symbol = 0;
  int64_t factor = 1;
  int64_t offset = 0;
};
std::optional<Affine> as_affine(const ir::Dim& dim);  ///< nothing if the expression is not affine

/// In all calls, `symbol` equals `value`, an affine expression of an earlier symbol. At most one per symbol.
struct Relation {
  int32_t symbol = 0;
  ir::Dim value;
};
std::vector<Relation> relations(const Shapes& shapes, const std::vector<CallShapes>& calls);
/// The greatest common divisor of the values of a symbol in all calls.
int64_t common_divisor(const Shapes& shapes, const std::vector<CallShapes>& calls, int32_t symbol);

}  // namespace antegrad::symbolic
