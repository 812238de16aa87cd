#pragma once
#include <torch/optim/optimizer.h>

#include <string>
#include <unordered_map>
#include <vector>

#include "optim/formula.h"

namespace antegrad::optim {

/// Which process of a group keeps the optimizer's state of which parameters, and updates them.
class Shares {
 public:
  explicit Shares(std::string group);

  /// Gives parameters that have no owner to processes that own little. Those on the same memory have the
  /// same.
  void assign(const std::vector<at::Tensor>& parameters);
  int64_t owner_of(const at::Tensor& parameter) const;
  bool is_own(const at::Tensor& parameter) const { return owner_of(parameter) == rank_; }

  /// Takes state of other processes' parameters from the optimizer.
  void drop_others(torch::optim::Optimizer& optimizer) const;
  /// Gives the optimizers of all processes the state of all parameters.
  void gather(torch::optim::Optimizer& optimizer, Method method) const;
  /// Returns the norm of all processes' gradients, given that of the own ones.
  double total_norm(double own, double type) const;

 private:
  std::string gather_from(int64_t rank, std::string own) const;

  std::string group_;
  int64_t rank_ = 0;
  std::vector<int64_t> bytes_;  ///< per process
  struct Owned {
    at::Tensor parameter;
    int64_t rank;
  };
  std::vector<Owned> owned_;                          ///< all parameters so far, frozen ones too
  std::unordered_map<const void*, size_t> place_of_;  ///< among them
};

}  // namespace antegrad::optim
