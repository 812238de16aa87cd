#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "passes/rewrite/call.h"

namespace antegrad::passes {

using Value = ir::ValueId;
using Dims = std::vector<int64_t>;  ///< dimension numbers, not negative
using Sizes = std::vector<ir::Dim>;

/// Emits the nodes that replace one node, with its provenance. Operands of an op must have the same dtype:
/// rules convert them first, so that results have the types that LibTorch would give them. Numbers are
/// accepted wherever `ir::Arg` is. Throws NotHandled for complex or empty operands, and where symbols hide
/// the layout.
class Builder {
 public:
  Builder(ir::Graph& graph, const ir::Node& replaced);

  // Returned by value: adding a value to the graph invalidates references to types.
  ir::TensorType type(Value x) const { return graph_.tensor_type(x); }
  Sizes sizes(Value x) const { return graph_.tensor_type(x).sizes; }
  size_t rank(Value x) const { return graph_.tensor_type(x).sizes.size(); }

  int64_t least(const ir::Dim& dim) const;                                  ///< a lower bound
  int64_t largest(const ir::Dim& dim) const;                                ///< an upper bound
  int64_t likely(const ir::Dim& dim) const { return graph_.hint_of(dim); }  ///< a hint, not guaranteed
  const std::vector<ir::Symbol>& symbols() const { return graph_.symbols; }

  // --- pointwise
  Value unary(std::string_view op, Value x) { return pointwise(op, {x}); }
  Value add(Value x, const ir::Arg& y) { return binary("aten.add", x, y); }
  Value sub(Value x, const ir::Arg& y) { return binary("aten.sub", x, y); }
  Value rsub(Value x, const ir::Arg& y) { return binary("aten.rsub", x, y); }  ///< y - x
  Value mul(Value x, const ir::Arg& y) { return binary("aten.mul", x, y); }
  Value div(Value x, const ir::Arg& y) { return binary("aten.div", x, y); }
  Value pow(Value x, double y) { return pointwise("aten.pow.Tensor_Scalar", {x, y}); }
  Value square(Value x) { return mul(x, x); }
  Value exp(Value x) { return unary("aten.exp", x); }
  Value log(Value x) { return unary("aten.log", x); }
  Value log1p(Value x) { return unary("aten.log1p", x); }
  Value neg(Value x) { return unary("aten.neg", x); }
  Value abs(Value x) { return unary("aten.abs", x); }
  Value sqrt(Value x) { return unary("aten.sqrt", x); }
  Value rsqrt(Value x) { return unary("aten.rsqrt", x); }
  Value sigmoid(Value x) { return unary("aten.sigmoid", x); }
  Value clamp_min(Value x, double bound) { return pointwise("aten.clamp_min", {x, bound}); }
  Value clamp_max(Value x, double bound) { return pointwise("aten.clamp_max", {x, bound}); }
  /// `comparison` is eq, ne, lt, le, gt or ge.
  Value compare(std::string_view comparison, Value x, const ir::Arg& y);
  Value both(Value x, Value y) { return pointwise("aten.logical_and", {x, y}, ir::DType::Bool); }
  Value where(Value condition, const ir::Arg& x, const ir::Arg& y);  ///< at least one of x and y is a tensor
  Value to(Value x, ir::DType dtype);                                ///< x itself if it already has the dtype
  Value pointwise(std::string_view op, std::vector<ir::Arg> args, std::optional<ir::DType> dtype = {});

  // --- reductions; without dimensions they return x itself
  Value sum(Value x, const Dims& dims, bool keepdim = false);
  Value mean(Value x, const Dims& dims, bool keepdim = false);
  /// Throws NotHandled for extrema over possibly empty dimensions, which LibTorch rejects.
  Value reduce(std::string_view op, Value x, const Dims& dims, bool keepdim);
  Dims all_dims(Value x) const;
  ir::Dim count(Value x, const Dims& dims) const;  ///< the number of elements per result

  // --- views
  Value unsqueeze(Value x, int64_t dim);
  Value unsqueeze(Value x, const Dims& dims);  ///< ascending; restores dimensions that a reduction removed
  Value squeeze(Value x, const Dims& dims);    ///< of size 1
  Value expand(Value x, const Sizes& sizes);
  Value permute(Value x, const Dims& order);
  Value slice(Value x, int64_t dim, const ir::Dim& start, const ir::Dim& end);
  Value split_dim(Value x, int64_t dim, const ir::Dim& outer, const ir::Dim& inner);
  Value merge_dims(Value x, int64_t dim);  ///< dim and the next one; NotHandled if the strides forbid it
  /// Other sizes and strides on the memory of x, from its first element on.
  Value strided(Value x, const Sizes& sizes, const Sizes& strides);
  /// Reshapes a vector with sizes of 1 so that it lies along `dim` of a tensor of that rank.
  Value along(Value vector, int64_t dim, size_t rank);

  // --- others
  Value arange(const ir::Dim& end, const ir::Device& device);  ///< i64
  Value full(const Sizes& sizes, ir::DType dtype, const ir::Device& device, double value);
  Value pad(Value x, int64_t dim, const ir::Dim& before, const ir::Dim& after);  ///< with zeros
  Value emit(std::string op, std::vector<ir::Arg> args, ir::TensorType type,
             std::vector<ir::NamedArg> attrs = {});
  void emit_as(Value output, std::string op, std::vector<ir::Arg> args, std::vector<ir::NamedArg> attrs = {});
  void require(Value condition, std::string message);  ///< throws at run time unless the condition is true

  /// Makes x, converted if needed, the value of an output of the replaced node. Rules define their outputs
  /// last.
  void define(Value output, Value x);

  /// Returns the nodes that the outputs need, each after those that it reads, regardless of the order of
  /// emission: C++ does not specify in which order the arguments of a call are evaluated.
  std::vector<ir::Node> take(const ir::Node& replaced);

 private:
  Value binary(std::string op, Value x, const ir::Arg& y);
  Value view(std::string op, Value x, std::vector<ir::Arg> args, Sizes sizes, Sizes strides, ir::Dim offset);
  Value reshape_view(Value x, Sizes sizes, Sizes strides);
  void refuse_unusual(Value operand) const;
  bool may_become(Value x, Value output) const;
  void rename(Value x, Value output);

  ir::Graph& graph_;
  ir::Provenance provenance_;
  size_t first_new_;  ///< values from here on belong to this builder
  std::vector<ir::Node> nodes_;
};

ir::Arg list_of(const Dims& dims);
ir::Arg list_of(const Sizes& sizes);

/// The dtype that LibTorch computes in: f32 for the half types. Throws NotHandled for non-floating types.
ir::DType wide(ir::DType dtype);

}  // namespace antegrad::passes
