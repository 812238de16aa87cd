#pragma once
#include <string_view>
#include <vector>

namespace antegrad::ir {

enum class OpKind { Pointwise, Reduction, View, Gather, Scatter, Matmul, Random, Effect, Factory, Extern };
/// How dear it is to compute an op's outputs again in the backward pass.
enum class Recompute { Free, Cheap, Dear, Never };

/// A row of ops.def. name is "aten.add.Tensor"; expression (may be empty) is the scalar formula of a
/// pointwise op over a, b, c, …
struct OpInfo {
  std::string_view name;
  OpKind kind;
  Recompute recompute;
  std::string_view expression;
};

/// Whether an op throws because of the data of its arguments.
enum class Raises { Never, Always, Integers };
/// By ops_raising.def. Integers: where its results are of integers.
Raises raises(std::string_view name);

const OpInfo* find_op(std::string_view name);  ///< null: no row, which means Extern
const std::vector<OpInfo>& all_ops();

}  // namespace antegrad::ir
