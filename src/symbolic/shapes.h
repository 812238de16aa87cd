#pragma once
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "ir/dim.h"
#include "ir/graph.h"

namespace antegrad::symbolic {

/// Sizes and strides of one tensor; those of an undefined tensor are not `defined`.
struct Shape {
  bool defined = false;
  std::vector<int64_t> sizes, strides;
  bool operator==(const Shape&) const = default;
};
/// The shapes of the tensors that a call is given.
using CallShapes = std::vector<Shape>;

/// A size that the user says will change.
struct Mark {
  int32_t tensor = 0;
  int32_t dim = 0;
  ir::Range range{1, std::numeric_limits<int64_t>::max()};
  int64_t multiple = 1;  ///< the size is a multiple of that
  std::string name;      ///< sizes of one name are equal; "": equal to those that are equal in the first call
};

/// Which sizes may change, and how the others follow from them.
struct Shapes {
  struct Tensor {
    bool defined = false;
    std::vector<ir::Dim> sizes, strides;
  };
  std::vector<Tensor> tensors;
  std::vector<ir::Symbol> symbols;  ///< each with the value of the newest call as its hint

  bool dynamic() const { return !symbols.empty(); }
  CallShapes at(const std::vector<int64_t>& symbols_values) const;
  std::vector<int64_t> hints() const;
  /// The same with expressions for some symbols: those that no expression names any more are gone, the others
  /// are numbered anew.
  Shapes with(const std::vector<ir::Dim>& replacements) const;
  /// The first size or stride that is the symbol alone or made of it alone, for people: "tensor 0 size 1".
  std::string name_of(int32_t symbol) const;
};

/// Sizes that are equal in all calls are constants, unless marked or `all`; of the others, those that are
/// equal to each other in all calls are one symbol. `calls`: of equal ranks, the newest last. Sizes 0 and,
/// with `all`, 1 are constants.
Shapes generalize(const std::vector<CallShapes>& calls, const std::vector<Mark>& marks, bool all);

/// Values of the symbols to capture a function at, the hints first; each far from multiples of the others.
std::vector<std::vector<int64_t>> assignments(const Shapes& shapes, size_t count);

/// factor * symbol + offset
struct Affine {
  int32_t symbol = 0;
  int64_t factor = 1;
  int64_t offset = 0;
};
std::optional<Affine> as_affine(const ir::Dim& dim);  ///< nothing: it has another form

/// Another value for `symbol` that follows from one before it in all calls by t = a * s + b; nothing: none.
struct Relation {
  int32_t symbol = 0;
  ir::Dim value;
};
std::vector<Relation> relations(const Shapes& shapes, const std::vector<CallShapes>& calls);
/// The greatest common divisor of the values that a symbol has in all calls.
int64_t common_divisor(const Shapes& shapes, const std::vector<CallShapes>& calls, int32_t symbol);

}  // namespace antegrad::symbolic
