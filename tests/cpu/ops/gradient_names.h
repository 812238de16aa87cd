#pragma once
// The ops that the gradient sweep must reach.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace antegrad::test {

/// The differentiable ops of PyTorch's op database: a name, or `name=overload` where the overload does not
/// follow from the name.
inline constexpr std::string_view kDifferentiableOps = R"(
nn.functional.adaptive_avg_pool1d nn.functional.adaptive_avg_pool2d nn.functional.adaptive_avg_pool3d
nn.functional.adaptive_max_pool1d nn.functional.adaptive_max_pool2d nn.functional.adaptive_max_pool3d
nn.functional.alpha_dropout nn.functional.avg_pool1d nn.functional.avg_pool2d nn.functional.avg_pool3d
nn.functional.batch_norm nn.functional.bilinear nn.functional.binary_cross_entropy
nn.functional.binary_cross_entropy_with_logits nn.functional.celu nn.functional.channel_shuffle
nn.functional.conv1d nn.functional.conv2d nn.functional.conv3d nn.functional.conv_transpose1d
nn.functional.conv_transpose2d nn.functional.conv_transpose3d nn.functional.cosine_embedding_loss
nn.functional.cosine_similarity nn.functional.cross_entropy=cross_entropy_loss nn.functional.ctc_loss
nn.functional.dropout nn.functional.dropout2d nn.functional.dropout3d nn.functional.elu
nn.functional.embedding nn.functional.embedding_bag nn.functional.feature_alpha_dropout
nn.functional.fractional_max_pool2d nn.functional.fractional_max_pool3d nn.functional.gaussian_nll_loss
nn.functional.gelu nn.functional.glu nn.functional.grid_sample=grid_sampler nn.functional.group_norm
nn.functional.hardshrink nn.functional.hardsigmoid nn.functional.hardswish nn.functional.hardtanh
nn.functional.hinge_embedding_loss nn.functional.huber_loss nn.functional.instance_norm
nn.functional.interpolate nn.functional.kl_div nn.functional.l1_loss nn.functional.layer_norm
nn.functional.leaky_relu nn.functional.linear nn.functional.local_response_norm
nn.functional.logsigmoid=log_sigmoid nn.functional.margin_ranking_loss nn.functional.max_pool1d
nn.functional.max_pool2d nn.functional.max_pool3d nn.functional.max_unpool1d nn.functional.max_unpool2d
nn.functional.max_unpool3d nn.functional.mish nn.functional.mse_loss
nn.functional.multi_head_attention_forward nn.functional.multi_margin_loss
nn.functional.multilabel_margin_loss nn.functional.multilabel_soft_margin_loss nn.functional.nll_loss
nn.functional.normalize nn.functional.one_hot nn.functional.pad nn.functional.pairwise_distance
nn.functional.pdist nn.functional.pixel_shuffle nn.functional.pixel_unshuffle nn.functional.poisson_nll_loss
nn.functional.prelu nn.functional.relu nn.functional.relu6 nn.functional.rms_norm nn.functional.rrelu
nn.functional.scaled_dot_product_attention nn.functional.selu nn.functional.silu
nn.functional.smooth_l1_loss nn.functional.soft_margin_loss nn.functional.softmin nn.functional.softplus
nn.functional.softshrink nn.functional.softsign nn.functional.tanhshrink nn.functional.threshold
nn.functional.triplet_margin_loss nn.functional.triplet_margin_with_distance_loss
nn.functional.unfold=im2col nn.functional.upsample_bilinear nn.functional.upsample_nearest linalg.cholesky
linalg.cholesky_ex linalg.cond linalg.cross linalg.det linalg.diagonal linalg.eig linalg.eigh linalg.eigvals
linalg.eigvalsh linalg.householder_product linalg.inv linalg.inv_ex linalg.lstsq linalg.lu linalg.lu_factor
linalg.lu_factor_ex linalg.lu_solve linalg.matrix_norm linalg.matrix_power linalg.multi_dot linalg.norm
linalg.pinv linalg.qr linalg.slogdet linalg.solve linalg.solve_ex linalg.solve_triangular linalg.svd
linalg.svdvals linalg.tensorinv linalg.tensorsolve linalg.vander linalg.vecdot linalg.vector_norm fft.fft
fft.fft2 fft.fftn fft.fftshift fft.hfft fft.hfft2 fft.hfftn fft.ifft fft.ifft2 fft.ifftn fft.ifftshift
fft.ihfft fft.ihfft2 fft.ihfftn fft.irfft fft.irfft2 fft.irfftn fft.rfft fft.rfft2 fft.rfftn special.entr
special.erfcx special.i0e special.i1 special.i1e special.log_ndtr special.ndtr special.ndtri
special.polygamma special.xlog1py masked.amax masked.amin masked.cumprod masked.cumsum masked.log_softmax
masked.logaddexp masked.logsumexp masked.mean masked.median masked.norm masked.normalize masked.prod
masked.softmax masked.softmin masked.std masked.sum masked.var H T __getitem__ __radd__ __rdiv__ __rmatmul__
__rmod__ __rmul__ __rpow__ __rsub__ _batch_norm_with_update _native_batch_norm_legit
_segment_reduce=segment_reduce _softmax_backward_data _unsafe_masked_index
_unsafe_masked_index_put_accumulate _upsample_bilinear2d_aa abs acos acosh add addbmm addcdiv addcmul addmm
addmv addr alias_copy amax amin angle as_strided as_strided_copy as_strided_scatter asin asinh atan atan2
atanh atleast_1d atleast_2d atleast_3d baddbmm bernoulli bfloat16 block_diag bmm broadcast_tensors
broadcast_to cartesian_prod cat cdist cdouble ceil cfloat chalf cholesky cholesky_inverse cholesky_solve
chunk clamp clamp_max clamp_min clone column_stack combinations complex conj conj_physical constant_pad_nd
contiguous copysign corrcoef cos cosh cov cross cummax cummin cumprod cumsum cumulative_trapezoid deg2rad
diag diag_embed diagflat diagonal diagonal_copy diagonal_scatter diff digamma dist div dot double dsplit
dstack einsum erf erfc erfinv exp exp2 expand expand_as expand_copy expm1 fill flatten flip fliplr flipud
float float_power floor fmax fmin fmod frac frexp gather gradient grid_sampler_2d grid_sampler_3d half
hsplit hstack hypot i0 imag index_add index_copy index_fill index_put index_reduce index_select inner istft
kron kthvalue ldexp lerp lgamma log log10 log1p log2 log_softmax logaddexp logaddexp2 logcumsumexp logdet
logit logsumexp lu=_lu_with_info lu_solve lu_unpack mH mT masked_fill masked_scatter masked_select matmul
matrix_exp max max_pool2d_with_indices_backward maximum mean median meshgrid min minimum mm mode movedim
msort mul mv mvlgamma nan_to_num nanmean nanmedian nanquantile nansum narrow native_batch_norm
native_dropout_backward native_layer_norm neg norm normal ormqr outer pca_lowrank permute permute_copy
pinverse polar polygamma positive pow prod put qr quantile rad2deg ravel real reciprocal remainder renorm
repeat repeat_interleave reshape reshape_as resolve_conj resolve_neg roll rot90 round rsqrt rsub scatter
scatter_add scatter_reduce select select_scatter sgn sigmoid sign sin sinc sinh slice slice_scatter softmax
sort sparse.mm sparse.sampled_addmm split split_with_sizes split_with_sizes_copy sqrt square squeeze
squeeze_copy stack std std_mean stft sub sum sum_to_size svd svd_lowrank t t_copy take take_along_dim tan
tanh tensor_split tensordot tile to to_sparse topk torch.ops.aten._efficient_attention_forward
torch.ops.aten._flash_attention_forward torch.ops.aten._safe_softmax.default=_safe_softmax trace transpose
transpose_copy trapezoid trapz triangular_solve tril triu true_divide trunc unbind unbind_copy unflatten
unfold unfold_copy unsafe_chunk unsafe_split unsqueeze unsqueeze_copy var var_mean vdot view view_as
view_as_complex view_as_real view_copy vsplit vstack where xlogy zero_
)";

/// Those that are not swept, and why.
inline const std::vector<std::pair<std::string, std::string>> kOpsNotSwept = {
    {"masked.", "written in Python (torch.masked)"},
    {"svd_lowrank", "written in Python"},
    {"pca_lowrank", "written in Python"},
    {"sparse.mm", "sparse tensors"},
    {"sparse.sampled_addmm", "sparse tensors"},
    {"to_sparse", "sparse tensors"},
    {"torch.ops.aten._efficient_attention_forward", "CUDA only"},
    {"torch.ops.aten._flash_attention_forward", "CUDA only"},
    {"chalf", "complex half has no random numbers, nor most kernels, on the CPU"},
    {"masked_select", "the size of its result depends on data: refused, see data_dependent_shape_test"},
    {"__rmod__", "LibTorch has no derivative of a number's remainder"},
    {"combinations", "uses masked_select"},
    {"nn.functional.one_hot", "of integers only"},
};

/// Maps a name of the database to the name among the samples: "linalg.det" to "linalg_det".
inline std::string sample_name(std::string_view op) {
  for (std::string_view prefix : {"linalg.", "fft.", "special."})
    if (op.starts_with(prefix))
      return std::string(prefix.substr(0, prefix.size() - 1)) + "_" + std::string(op.substr(prefix.size()));
  if (constexpr std::string_view kPrefix = "nn.functional."; op.starts_with(kPrefix))
    return std::string(op.substr(kPrefix.size()));
  return std::string(op);
}

}  // namespace antegrad::test
