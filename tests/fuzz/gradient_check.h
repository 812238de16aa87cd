#pragma once
#include "fuzz/check.h"

/// Compares the gradients of a compiled program with those of eager LibTorch.
namespace antegrad::fuzz {

struct GradientResult {
  std::optional<std::string> difference;
  std::optional<std::string> refusal;  ///< antegrad refused the program; the check ended there
  bool eager_threw = false;            ///< and so did compiled, at the same stage; the check ended there
  int first_order = 0;                 ///< the number of defined gradients that were compared
  int second_order = 0;
};

/// Compares one call as check() does, then each of Program::derivatives, then repeats everything with new
/// inputs.
///
/// After a call it also compares is_leaf() and the presence of a grad_fn; floating-point values need only be
/// close. A derivative starts from some of the outputs and inputs that require grad, with random tangents in
/// random layouts; those that do not accumulate are taken with respect to some of the inputs. Gradients must
/// be defined in both worlds or in neither, be close, and agree in requires_grad. What throws in one world
/// must throw in the other, with the same message.
GradientResult check_gradients(const Program& program, const Compile& compile);

}  // namespace antegrad::fuzz
