#pragma once
#include "fuzz/check.h"

/// Compares the gradients of a compiled program with those of eager LibTorch.
namespace antegrad::fuzz {

struct GradientResult {
  std::optional<std::string> difference;
  std::optional<std::string> refusal;  ///< antegrad said that it cannot do this; the check ended there
  bool eager_threw = false;            ///< and so did compiled, at the same stage; the check ended there
  int first_order = 0;                 ///< gradients that were defined and compared
  int second_order = 0;
};

/// As check() up to the first call, then each of Program::derivatives, then all of it with fresh inputs.
///
/// After a call is_leaf() and the presence of a grad_fn are compared, too, and floats need only be close. A
/// derivative starts from some of the outputs and inputs that require grad, with random tangents in random
/// layouts, and those that do not accumulate go to some of the inputs. Gradients must be defined in both
/// worlds or in none, be close, and agree in requires_grad. What throws in one world must throw in the other,
/// with the same message.
GradientResult check_gradients(const Program& program, const Compile& compile);

}  // namespace antegrad::fuzz
