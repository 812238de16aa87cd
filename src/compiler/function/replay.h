#pragma once
#include <ATen/core/Tensor.h>

#include <span>
#include <string>
#include <vector>

#include "aten/op_schema.h"
#include "capture/tape.h"
#include "compiler/function/literals.h"
#include "compiler/function/pieces.h"

namespace antegrad::compiler {

/// A piece of a stretch, or the body of a region, as a function of its input tensors: calls the recorded ops
/// again, through autograd, in the grad mode and the scope that each was recorded in.
class Replay {
 public:
  /// `any_reals`: the real numbers of the piece are inputs too. `rules`: as in literals.h, or empty where
  /// all integers are fixed.
  Replay(const Piece& piece, bool any_reals, SizeRules rules);

  /// What it is called with.
  struct Inputs {
    std::vector<at::Tensor> tensors;  ///< those of the piece, then numbers that are as good as tensors
    std::vector<double> numbers;      ///< the others
  };
  Inputs inputs_of(std::vector<at::Tensor> tensors, std::span<const double> reals) const;
  std::vector<at::Tensor> operator()(const std::vector<at::Tensor>& tensors,
                                     const std::vector<double>& numbers) const;

 private:
  struct Step {
    ir::Node node;
    const aten::OpSchema* schema = nullptr;  ///< null for an alias and for what only bodies of regions have
    bool grad_mode = false;
    bool changes_arguments = false;  ///< arguments that it returns are new values
    bool has_reals = false;          ///< some of its arguments are among the numbers
    bool has_integers = false;       ///< some of its arguments follow sizes
    size_t first_integer = 0;        ///< of the piece's, that is among its arguments
  };
  void take_reals(Step& step);
  void take_integers(Step& step, size_t& next_integer);
  void run(const Step& step, ir::PerValue<at::Tensor>& values) const;
  static void run_own(const ir::Node& node, const ir::PerValue<ir::Value>& types,
                      ir::PerValue<at::Tensor>& values);

  ir::PerValue<ir::Value> types_;
  size_t value_count_ = 0;
  bool any_reals_;
  SizeRules rules_;
  std::vector<ir::ValueId> inputs_;
  std::vector<bool> is_tensor_;  ///< per real number of the piece, if any_reals_
  std::vector<Step> steps_;
  std::vector<ir::ValueId> outputs_;
  std::vector<bool> requires_grad_;  ///< of the outputs that are the call's
};

}  // namespace antegrad::compiler
