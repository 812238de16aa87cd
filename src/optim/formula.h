#pragma once
#include <array>
#include <compare>
#include <cstdint>
#include <string>

#include "ir/types.h"

namespace antegrad::optim {

/// Optimizers that have a formula: LibTorch's, then those of <antegrad/optimizers.h>.
enum class Method : uint8_t { Sgd, Adam, AdamW, Adagrad, RmsProp, Lion, NAdam, Lamb, Adafactor, Muon };

/// Whether each element of a parameter is updated by itself; the other methods need sums over all of them.
constexpr bool is_elementwise(Method method) { return method <= Method::NAdam; }

/// What a step computes for each element of a parameter. Options that change the ops are fields; numbers are
/// inputs of the code, so that a new learning rate needs no new code.
struct Formula {
  Method method = Method::Sgd;
  ir::DType dtype = ir::DType::F32;      ///< of the parameter, its gradient and its state
  bool scales = false;                   ///< the gradient is multiplied by a number first
  bool clamps = false;                   ///< then, the gradient is clamped
  bool decays = false;                   ///< weight decay, as the method understands it
  bool decoupled = false;                ///< NAdam: which does not go through the gradient
  bool momentum = false;                 ///< SGD, RMSprop
  bool nesterov = false;                 ///< SGD, Muon
  bool amsgrad = false;                  ///< Adam, AdamW
  bool centered = false;                 ///< RMSprop
  bool factored = false;                 ///< Adafactor: the state of a matrix
  int8_t iterations = 0;                 ///< Muon
  ir::DType inner = ir::DType::F32;      ///< Muon: in which it iterates
  std::array<double, 4> coefficients{};  ///< Muon: a, b, c, the least norm
  bool averages = false;  ///< a moving average of the parameter is the last tensor of the state
  auto operator<=>(const Formula&) const = default;
};

/// The numbers that formulas read. LibTorch computes them in double, and rounds them to the type in which it
/// computes.
enum Number : int32_t {
  kScale,          ///< scales: the factor
  kLowest,         ///< clamps
  kHighest,        ///< clamps
  kDecay,          ///< weight decay; where it is decoupled: what is left of the parameter
  kBeta1,          ///< Adam: beta 1; SGD, RMSprop, Muon: momentum
  kOneMinusBeta1,  ///< Adam: 1 - beta 1; SGD: 1 - dampening, or 1 at first
  kBeta2,          ///< Adam: beta 2; RMSprop: alpha
  kOneMinusBeta2,
  kCorrection,  ///< Adam: square root of the second bias correction
  kEps,
  kStep,             ///< minus the step size
  kAverage,          ///< averages: how far the average goes towards the parameter
  kGradientStep,     ///< NAdam: minus the step size along the gradient
  kFirstCorrection,  ///< Lamb: the first bias correction
  kLeastSize,        ///< Adafactor: the least that the size of a parameter counts
  kMostSize,         ///< Adafactor: the most that the size of an update may be
  kNumbers
};
using Numbers = std::array<double, kNumbers>;

/// Returns how many tensors of state a step reads or writes, without and with the average.
int32_t states_of_method(const Formula& formula);
int32_t states(const Formula& formula);

/// Returns an elementwise formula as a graph over one dim of any size. Inputs: parameter, gradient, state in
/// the order in which LibTorch's structs declare it, numbers. Outputs: the new contents of parameter and
/// state.
std::string graph_text(const Formula& formula);

/// The same for tensors on a CUDA device. Numbers have the type in which the step is computed. With
/// `scale_on_device`, kScale is another input, after the numbers: one element in memory of the device.
std::string device_graph_text(const Formula& formula, bool scale_on_device);

/// Returns the type in which a step is computed: f64 for parameters of f64, else f32.
ir::DType computed_type(const Formula& formula);

}  // namespace antegrad::optim
