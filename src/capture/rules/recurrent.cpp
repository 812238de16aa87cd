// oneDNN's recurrent layers on the CPU.
#include <c10/core/GradMode.h>

#include "capture/rules/shapes.h"

namespace antegrad::capture::rules {

void add_recurrent_rules(RuleTable& table) {
  // One direction of one layer. The workspace exists in grad mode only; its size, which oneDNN knows and
  // which is no expression of the batch's, is said to be 0, so that one graph serves all batches. Only the
  // layer's backward pass reads it, and LibTorch allocates it.
  table.add("mkldnn_rnn_layer", [](const Tensor& x, Skip, Skip, Skip, Skip, const Tensor& hidden,
                                   const Tensor& cell, bool, Skip, int64_t, int64_t width) {
    const auto dtype = x.scalar_type();
    return std::tuple(empty({x.size(0), x.size(1), width}, dtype), contiguous_like(hidden),
                      contiguous_like(cell),
                      c10::GradMode::is_enabled() ? empty({0}, at::ScalarType::Byte) : Tensor());
  });
  table.add("mkldnn_rnn_layer_backward",
            [](const Tensor& x, const Tensor& of_input, const Tensor& of_hidden, const Tensor& bias, Skip,
               const Tensor& hidden, const Tensor& cell) {
              return std::tuple(contiguous_like(x), contiguous_like(of_input), contiguous_like(of_hidden),
                                contiguous_like(bias), contiguous_like(bias), contiguous_like(hidden),
                                contiguous_like(cell));
            });
}

}  // namespace antegrad::capture::rules
