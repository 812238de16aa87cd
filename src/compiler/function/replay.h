#pragma once
#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "aten/op_schema.h"
#include "capture/tape.h"

namespace antegrad::compiler {

/// The real numbers among the arguments of a stretch's ops, in order. They often come from data that was
/// read, and differ in every call.
std::vector<double> numbers_of(const capture::Stretch& stretch);

/// A stretch as a function of its input tensors: calls the recorded ops again, through autograd, in the grad
/// mode and the scope that each was recorded in.
class Replay {
 public:
  /// `general`: the numbers of the stretch are inputs too.
  Replay(const capture::Stretch& stretch, bool general);

  /// What it is called with.
  struct Inputs {
    std::vector<at::Tensor> tensors;  ///< those of the stretch, then numbers that are as good as tensors
    std::vector<double> numbers;      ///< the others
  };
  Inputs inputs_of(const capture::Stretch& stretch) const;
  std::vector<at::Tensor> operator()(const std::vector<at::Tensor>& tensors,
                                     const std::vector<double>& numbers) const;

 private:
  struct Step {
    ir::Node node;
    const aten::OpSchema* schema = nullptr;  ///< null for an alias
    bool grad_mode = false;
    bool changes_arguments = false;  ///< arguments that it returns are new values
    bool has_numbers = false;        ///< some of its arguments are among the numbers
  };
  void take_numbers(Step& step);
  void run(const Step& step, const std::vector<double>& numbers, size_t& next_number,
           ir::PerValue<at::Tensor>& values) const;

  size_t value_count_ = 0;
  bool general_;
  std::vector<ir::ValueId> inputs_;
  std::vector<bool> is_tensor_;  ///< per number of the stretch, if general
  std::vector<Step> steps_;
  std::vector<ir::ValueId> outputs_;
  std::vector<bool> requires_grad_;
};

}  // namespace antegrad::compiler
