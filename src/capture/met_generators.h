#pragma once
#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <vector>

namespace antegrad::capture {

/// The generators that a captured function has passed to ops (aten/generators.h).
class MetGenerators {
 public:
  /// Returns the tensor that stands for the generator. Its contents are the state of the generator, which
  /// nothing draws from while the function is captured.
  at::Tensor meet(const at::Generator& generator);

  /// Returns the state in which the generator of a tensor was met; undefined for other tensors.
  at::Tensor state_of(const at::Tensor& stand_in) const;

  /// Throws if the function has changed the state of one that it had passed to an op, and restores the state.
  void check_unchanged() const;

  /// Lets go of the generators: those that only the function held are gone then.
  void let_go();

 private:
  struct Met {
    at::Generator generator;
    const c10::TensorImpl* stand_in = nullptr;
    at::Tensor state;
  };
  std::vector<Met> all_;
};

/// Throws the error for a function that changes the state of a generator by itself.
[[noreturn]] void throw_changes_generator();

}  // namespace antegrad::capture
