#pragma once
// Sampled ops whose gradients are not derivatives, in eager either. A test checks that this still holds.
#include <string_view>

namespace antegrad::test {

struct NoDerivative {
  std::string_view op;  ///< as stem_of() returns it
  std::string_view why;
};

inline constexpr NoDerivative kNoDerivatives[] = {
    // --- by definition
    {"_ctc_loss", "the gradient is that of normalized log-probabilities, which the samples are not"},
    {"ctc_loss.IntList", "the gradient is that of normalized log-probabilities, which the samples are not"},
    {"cholesky_inverse", "the gradient is that of a triangular factor, which the sample is not"},
    {"cholesky_solve", "the gradient is that of a triangular factor, which the sample is not"},
    {"nll_loss_backward", "the total weight given is not that of the targets"},
    {"nll_loss2d_backward", "the total weight given is not that of the targets"},
    {"normal.Tensor_Tensor", "random numbers are constants"},
    {"normal.Tensor_float", "random numbers are constants"},
    {"normal.float_Tensor", "random numbers are constants"},
    {"rrelu_with_noise_functional", "random numbers are constants"},
    {"_standard_gamma", "differentiates the distribution, not the algorithm that draws from it"},
    {"_fused_sgd", "autograd does not see the step of an optimizer"},
    // --- at the sampled points
    {"mode", "jumps where elements are equal"},
    {"nan_to_num", "jumps at infinity"},
    {"float", "rounds to single precision"},
    // --- bugs of LibTorch 2.11
    {"ldexp.Tensor", "raises 2 to integers as integers, so negative exponents give 0"},
    {"ldexp", "raises 2 to integers as integers, so negative exponents give 0"},
    {"as_strided_scatter", "the gradient of the base is kept where it should be cleared, and the reverse"},
};

}  // namespace antegrad::test
