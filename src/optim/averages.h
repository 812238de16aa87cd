#pragma once
#include <memory>
#include <vector>

#include "antegrad/optim.h"
#include "optim/updates.h"

namespace antegrad::optim {

/// The averages of parameters during a step. They become those of the WeightAverage in finish().
class Averages {
 public:
  /// Throws Error(InvalidArgument) when an average does not fit its parameter.
  Averages(const torch::optim::Optimizer& optimizer, std::shared_ptr<WeightAverage> average);
  /// Adds averages to the updates of their parameters. All memory is allocated here.
  void add_to(std::vector<Update>& updates);
  /// Moves the other averages towards their parameters, which have been updated.
  void finish();

 private:
  std::shared_ptr<WeightAverage> average_;
  std::vector<at::Tensor> parameters_, list_;
  std::vector<double> weights_;  ///< per parameter: how far the average goes towards it
  std::vector<bool> is_done_;    ///< per parameter: nothing is left for finish()
};

}  // namespace antegrad::optim
