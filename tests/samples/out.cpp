#include "samples/table.h"

namespace antegrad::samples {

const std::string_view kOutOps = R"(
add.Tensor sub.Tensor mul.Tensor div.Tensor maximum minimum eq.Tensor lt.Scalar where.self clamp
pow.Tensor_Scalar
abs neg exp log sqrt tanh sigmoid relu gelu silu addcmul lerp.Tensor logical_and bitwise_and.Tensor
sum.dim_IntList mean.dim amax prod.dim_int var.correction argmax cumsum any.dim all.dim max.dim
linalg_vector_norm
mm addmm bmm baddbmm addmv dot cat stack index_select gather scatter.src index_add take sort topk
_softmax _log_softmax mse_loss silu_backward sigmoid_backward tanh_backward
gelu_backward leaky_relu_backward mse_loss_backward nll_loss_backward max_pool2d_with_indices_backward
atan2 kthvalue median.dim mode sort.stable linalg_cholesky_ex linalg_inv_ex linalg_qr triu avg_pool2d
upsample_nearest2d
)";

}  // namespace antegrad::samples
