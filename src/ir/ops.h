#pragma once
#include <string_view>
#include <vector>

namespace antegrad::ir {

enum class OpKind { Pointwise, Reduction, View, Gather, Scatter, Matmul, Random, Effect, Factory, Extern };
/// The cost of recomputing an op's outputs in the backward pass.
enum class Recompute { Free, Cheap, Expensive, Never };

/// A row of ops.def. `name` is, for instance, "aten.add.Tensor"; `expression` is the scalar formula of a
/// pointwise op over a, b, c, …, or empty.
struct OpInfo {
  std::string_view name;
  OpKind kind;
  Recompute recompute;
  std::string_view expression;
};

/// Whether the op may throw depending on the data of its arguments.
enum class Raises { Never, Always, Integers };
/// Looks it up in ops_raising.def. Integers: only if its results are integers.
Raises raises(std::string_view name);

/// What the ops of the backward pass that come from an op depend on, besides the types of its arguments.
enum class Derivative {
  Varies,        ///< possibly on sizes, which it may compare with each other
  Uniform,       ///< not on sizes above 1
  KeepsNumbers,  ///< not on these either, and numbers among its arguments occur there unchanged, if at all
};
/// Looks it up in ops_derivative.def. Without a row there: Uniform for ops that ops.def knows more about than
/// that LibTorch computes them, whose formulas do the same at all sizes above 1.
Derivative derivative(std::string_view name);

const OpInfo* find_op(std::string_view name);  ///< null when the table has no such row, which means Extern
const std::vector<OpInfo>& all_ops();

}  // namespace antegrad::ir
