#pragma once
#include <ATen/core/ivalue.h>

#include <functional>
#include <memory>
#include <vector>

#include "aten/op_schema.h"
#include "ir/graph.h"

namespace antegrad::capture {

/// The forward pass that captures of a function are expected to record, over symbols. Made once; many
/// captures are compared with it (Follower).
class Expected {
 public:
  /// `forward`: a recorded graph, which earlier captures at several sizes have had in common. Its constants
  /// come first, and offsets count from those of its inputs.
  explicit Expected(ir::Graph forward);

  /// Whether captures can be compared with it.
  bool is_usable() const { return usable_; }
  size_t ops() const { return ops_.size(); }  ///< nodes that are not constants

  /// A size, stride or offset: a number, or that of an expression.
  struct Number {
    int64_t constant = 0;
    int32_t expression = -1;
    int64_t at(const std::vector<int64_t>& values) const {
      return expression < 0 ? constant : values[expression];
    }
  };
  struct TensorForm {
    bool is_tensor = false;
    c10::ScalarType dtype{};
    std::vector<Number> sizes, strides;
    Number offset;
  };
  struct Op {
    const ir::Node* node = nullptr;
    const aten::OpSchema* schema = nullptr;  ///< null for one that has to be recorded, and is compared then
    bool is_alias = false;
  };

 private:
  friend class Follower;
  Number number_of(const ir::Dim& dim);

  ir::Graph graph_;
  bool usable_ = true;
  std::vector<ir::Dim> expressions_;  ///< in types of values, each once
  ir::PerValue<TensorForm> forms_;
  ir::PerValue<bool> outside_;  ///< inputs and constants: real tensors
  std::vector<Op> ops_;         ///< without the constants
  std::vector<bool> symbolic_;  ///< per expression: it is a size, which must be above 1
};

/// Compares what a capture does with what is expected, op by op. What has been as expected so far is not
/// recorded: the graph of the capture has its values, but not its nodes.
class Follower {
 public:
  /// `symbols`: of the graph. Throws Error when an expression has no value there.
  Follower(std::shared_ptr<const Expected> expected, std::vector<int64_t> symbols);

  /// Whether sizes that depend on symbols are all above 1.
  bool has_usual_sizes() const { return usual_; }
  /// Whether all that is expected has been done.
  bool is_complete() const { return next_ == expected_->ops_.size(); }
  size_t nodes() const { return next_; }  ///< done, and not in the graph

  /// Returns what is expected next if it is a call of this op that need not be recorded, else null.
  const Expected::Op* next_call(const aten::OpSchema& schema) const;
  const Expected::Op* next_alias() const;
  ir::ValueId base_of(ir::ValueId value) const { return expected_->graph_.values[value].base; }
  using IsValue = c10::function_ref<bool(const at::Tensor&, ir::ValueId)>;
  /// Whether a call of the op has the expected arguments. `is_value`: whether a tensor is a value.
  bool has_arguments(const Expected::Op& op, c10::ArrayRef<c10::IValue> arguments, IsValue is_value) const;
  /// Whether the values that the graph has got since the last time are as expected.
  bool has_values(const ir::Graph& graph);
  /// Returns the type that a value has in the graph.
  ir::TensorType type_of(ir::ValueId value) const;
  void advance(const ir::Graph& graph) {
    ++next_;
    known_ = graph.values.size();
  }
  /// Removes nodes that have been recorded if they are what is expected next; else returns false.
  bool take_recorded(ir::Graph& graph);
  /// Returns the nodes that are not in the graph.
  std::vector<ir::Node> left_out() const;
  /// Returns what a capture would have recorded that has done all of it.
  ir::Graph recorded() const;

 private:
  bool matches(const ir::Arg& expected, const c10::IValue& value, const aten::ArgSchema& schema,
               const IsValue& is_value) const;
  bool matches_list(const ir::Arg::List& expected, const c10::IValue& value, const aten::ArgSchema& schema,
                    const IsValue& is_value) const;

  std::shared_ptr<const Expected> expected_;
  std::vector<int64_t> symbols_;
  std::vector<int64_t> values_;    ///< of the expressions
  ir::PerValue<int64_t> offsets_;  ///< of inputs and constants: where they begin in their storages
  bool usual_ = true;
  size_t next_ = 0;
  size_t known_ = 0;  ///< values of the graph that are known to be as expected
};

}  // namespace antegrad::capture
