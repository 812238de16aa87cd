#include "samples/rows.h"
#include "samples/samples.h"

namespace antegrad::samples {
namespace {

const std::string_view kTable = R"(
# --- convolution, pooling, normalization
fd : conv1d | T[2,3,8] T[4,3,3] T[4] | T[2,3,8] T[4,3,3] _ 2 1
fd : conv2d | T[2,3,6,6] T[4,3,3,3] T[4] | T[2,4,6,6]@ T[4,1,3,3] T[4] 1 1 1 4
fd : conv3d | T[1,2,4,4,4] T[3,2,2,2,2] T[3]
fd : conv_transpose1d | T[2,3,5] T[3,2,3] T[2] 2
fd : conv_transpose2d.input | T[2,3,4,4] T[3,2,3,3] T[2] 2 1 1
fd : conv_transpose3d.input | T[1,2,3,3,3] T[2,2,2,2,2] T[2]
fd : adaptive_avg_pool1d,adaptive_max_pool1d | T[2,3,6] (2)
fd : adaptive_avg_pool2d | T[2,3,6,6] (2,3) | T[2,3,4,4] (1,1)
fd : adaptive_avg_pool3d | T[1,2,4,4,4] (2,2,3)
fd : avg_pool1d,max_pool1d | T[2,3,6] 2 | T[2,3,7] 3 2 1
fd : max_pool2d | T[2,3,6,6] 2 | T[2,3,6,6]@ 3 2 1
fd : max_pool3d | T[1,2,4,4,4] 2
fd : fractional_max_pool3d | T[1,2,5,5,5] (2,2,2) (3,3,3) T[1,2,3]%
fd : max_unpool3d | T[1,1,2,2,2] i[1,1,2,2,2]=(0,3,9,14,20,25,30,40) (4,4,4) (2,2,2) (0,0,0)
fd : batch_norm | T[4,3,2,2] T[3] T[3] _ _ true 0.1 1e-5 true | T[4,3] T[3] T[3] T[3] T[3]+ false 0.1 1e-5 true
fd : instance_norm | T[2,3,4] T[3] T[3] _ _ true 0.1 1e-5 true
fd : layer_norm | T[3,4] (4) T[4] T[4] | T[2,3,4] (3,4)
fd : rms_norm | T[3,4] (4) T[4] | T[2,3,4] (3,4)
fd : group_norm | T[2,4,3,3] 2 T[4] T[4]
# --- layers and activations
fd : linear | T[3,4] T[5,4] T[5] | T[2,3,4] T[5,4]
fd : bilinear | T[3,4] T[3,5] T[2,4,5] T[2]
fd : relu6,selu,log_sigmoid | T[3,4] | T[4,3]'
fd : prelu | T[3,4] T[4] | T[3,4] T[1]
fd : rrelu | T[3,4] 0.1 0.3 true | T[3,4] 0.1 0.3 false
fd : softmax.int,log_softmax.int | T[3,4] 1 | T[4,3]' 0 d
fd : dropout,alpha_dropout | T[3,4] 0.5 true | T[3,4] 0.5 false
fd : feature_dropout,feature_alpha_dropout | T[2,3,4,4] 0.5 true
fd : embedding_bag | T[5,4] i[6]<5 i[2]=(0,3) | T[5,4] i[6]<5 i[2]=(0,2) false 1
fd : grid_sampler | T[2,3,4,4] T[2,3,3,2] 0 0 false | T[1,2,3,3,3] T[1,2,2,2,3] 0 0 false
fd : pad | T[3,4] (1,2) | T[2,3,5] (1,2) reflect | T[2,3,5] (1,2) replicate | T[2,3,5] (1,2) circular
fd : scaled_dot_product_attention | T[2,2,4,8] T[2,2,4,8] T[2,2,4,8] | T[2,2,4,8] T[2,2,6,8] T[2,2,6,8] T[4,6]
  | T[2,2,4,8] T[2,2,4,8] T[2,2,4,8] _ 0.0 true
fd : lstm_cell | T[2,3] {T[2,4];T[2,4]} T[16,3] T[16,4] T[16] T[16]
fd : gru_cell | T[2,3] T[2,4] T[12,3] T[12,4] T[12] T[12]
fd : rnn_tanh_cell,rnn_relu_cell | T[2,3] T[2,4] T[4,3] T[4,4] T[4] T[4]
# --- losses
fd : cross_entropy_loss | T[3,4] i[3]<4 | T[3,4] T[3,4]% _ 1 -100 0.1 | T[2,4,3] i[2,3]<4 T[4]+ 2
fd : nll_loss | T[3,4] i[3]<4
fd : nll_loss_nd | T[2,4,3] i[2,3]<4
fd : ctc_loss.IntList | T[6,2,4] i[2,3]=(1,2,3,3,2,1) (6,6) (3,3)
fd : cosine_embedding_loss | T[3,4] T[3,4] T[3]=(1,-1,1) 0.2
fd : hinge_embedding_loss | T[2,2] T[2,2]=(1,-1,-1,1)
fd : margin_ranking_loss | T[3] T[3] T[3]=(1,-1,1) 0.5
fd : triplet_margin_loss | T[3,4] T[3,4] T[3,4]
fd : multilabel_margin_loss | T[3,4] i[3,4]=(0,1,-1,0,2,-1,0,0,3,2,1,0)
fd : kl_div | T[3,4] T[3,4]% | T[3,4] T[3,4] 0 log_target=true
fd : l1_loss | T[3,4] T[3,4] | T[3,4] T[3,4] 0
fd : poisson_nll_loss | T[3,4] T[3,4]+ true false 1e-8 1 | T[3,4]+ T[3,4]+ false false 1e-8 2
fd : cosine_similarity,pairwise_distance | T[3,4] T[3,4]
fd : pdist | T[4,3] | T[4,3] 1.0
fd : cdist | T[3,4] T[5,4] | T[2,3,4] T[2,5,4] 1.0
# --- linear algebra
fd : linalg_cholesky,linalg_det,linalg_inv,linalg_slogdet,linalg_eigvals,linalg_lu_factor,logdet
  | T[3,3]& | T[2,3,3]&
fd : linalg_eigh,linalg_eigvalsh | T[3,3]& | T[2,3,3]& U
fd : linalg_cond | T[3,3]& | T[3,3]& 1
fd : linalg_diagonal | T[2,3,4] | T[2,3,4] offset=1
fd : linalg_lstsq | T[4,3] T[4,2]
fd : linalg_norm | T[3,4] | T[3,4] 2 (1)
fd : linalg_norm.ord_str,linalg_matrix_norm.str_ord | T[3,4] nuc | T[3,4] fro
fd : linalg_matrix_norm | T[3,4] 2 | T[3,4] 1 | T[3,4] -inf
fd : linalg_matrix_power | T[3,3]& 3 | T[3,3]& -2
fd : matrix_exp | T[3,3]
fd : linalg_multi_dot | {T[2,3];T[3,4];T[4,2]}
fd : linalg_solve,linalg_solve_ex | T[3,3]& T[3,2] | T[2,3,3]& T[2,3]
fd : linalg_svd | T[3,4] false
fd : linalg_svdvals | T[3,4]
fd : svd | T[3,4] | T[4,3]'
fd : qr | T[4,3]
fd : linalg_tensorinv | T[4,2,2] 1
fd : linalg_tensorsolve | T[2,2,4] T[2,2]
fd : linalg_vander | T[3] | T[2,3] N=4
fd : linalg_vecdot | T[3,4] T[3,4]
fd : _lu_with_info | T[3,3]&
fd : lu_solve | T[3,2] T[3,3]& j[3]=(1,2,3)
fd : pinverse | T[4,3]
fd : matmul | T[3,4] T[4,5] | T[4] T[4] | T[2,3,4] T[4,5] | T[3,4] T[4] | T[2,1,3,4] T[5,4,3]
fd : inner,kron | T[3,4] T[2,4]
fd : outer | T[3] T[4]
fd : tensordot | T[3,4] T[4,5] (1) (0) | T[2,3,4] T[4,3,5] (1,2) (1,0)
fd : einsum | ij,jk->ik {T[3,4];T[4,5]} | bij,bjk->bik {T[2,3,4];T[2,4,5]} | ii->i {T[3,3]} | i,j->ij {T[3];T[2]}
# --- fourier transforms
fdc : fft_fft,fft_ifft | T[3,8] | T[3,8] 6 0 ortho
fdc : fft_fft2,fft_ifft2,fft_fftn,fft_ifftn,fft_fftshift,fft_ifftshift | T[3,4]
fd : fft_rfft,fft_ihfft | T[3,8] | T[3,8] 6 0 ortho
fd : fft_rfft2,fft_rfftn,fft_ihfft2,fft_ihfftn | T[3,4]
fdc : fft_irfft,fft_hfft | T[3,5] | T[3,5] 8 1 ortho
fdc : fft_irfft2,fft_irfftn,fft_hfft2,fft_hfftn | T[3,4]
# --- pointwise
fd : special_ndtr,square,positive,resolve_conj,resolve_neg | T[3,4] | T[4,3]'
fd : special_polygamma | 1 T[3,4]+
fd : float_power.Tensor_Scalar | T[3,4]+ 2.5
fd : float_power.Tensor_Tensor | T[3,4]+ T[4]
fd : float_power.Scalar | 2.5 T[3,4]
fd : true_divide.Tensor | T[3,4] T[3,4]+
c : conj,imag,real,mH,resolve_conj,abs,square | T[3,4] | T[4,3]'
fd : where.ScalarOther | o[3,4] T[3,4] 2.0
# --- reductions
fd : nanmean | T[4]=(nan,1,2,3) | T[3,4] (1)
fd : quantile,nanquantile | T[3,4] T[2]=(0.25,0.8) 1
fd : quantile.scalar,nanquantile.scalar | T[3,4] 0.4 | T[3,4] 0.4 1 true
fd : msort | T[4,3]
fd : corrcoef,cov | T[3,5]
fd : diff | T[3,5] | T[3,5] 2 0
fd : trapezoid.dx,trapz.dx,cumulative_trapezoid.dx | T[3,4]
fd : trapezoid.x,trapz.x,cumulative_trapezoid.x | T[3,4] T[4]~
fd : gradient.scalarint | T[5] | T[3,4] 2 dim=1
fd : cross | T[4,3] T[4,3] | T[3,4] T[3,4] 0
fd : std,var | T[3,4] | T[3,4] false
fd : std.dim,var.dim,std_mean.dim,var_mean.dim | T[3,4] (1)
# --- shapes
fd : atleast_1d,atleast_2d,atleast_3d | T[] | T[3]
fd : broadcast_tensors,meshgrid | {T[1];T[4]}
fd : meshgrid.indexing | {T[2];T[3]} indexing=xy
fd : broadcast_to | T[3,1] (3,4)
fd : cartesian_prod | {T[2];T[3]}
fd : chunk,unsafe_chunk | T[5,4] 2 | T[3,4] 2 1
fd : column_stack,hstack,vstack,dstack | {T[2];T[2]} | {T[3,2];T[3,2]}
fd : contiguous | T[3,4] | T[4,3]'
fd : diag | T[3] | T[3,4] 1
fd : diagflat,ravel | T[2,3] | T[3,2]'
fd : dsplit.int | T[2,2,4] 2
fd : hsplit.int,vsplit.int | T[4,4] 2
fd : tensor_split.sections | T[5,4] 2
fd : tensor_split.indices | T[5,4] (1,3)
fd : expand_as,reshape_as,view_as | T[3,4] T[3,4]
fd : flatten.using_ints | T[2,3,4] 1 2 | T[2,4,3]'
fd : fliplr,flipud,mT,numpy_T | T[3,4]
fd : movedim.int | T[2,3,4] 0 2
fd : movedim.intlist | T[2,3,4] (0,1) (1,2)
fd : narrow | T[5,4] 0 1 3
fd : repeat_interleave.self_int | T[3,4] 2 1 | T[3,4] 2
fd : reshape | T[3,4] (2,6) | T[4,3]' (12)
fd : sum_to_size | T[3,4] (1,4)
fd : take_along_dim | T[3,4] i[3,2]<4 1
fd : tile | T[3,4] (2,1)
fd : unflatten.int | T[3,4] 1 (2,2)
fd : to.dtype | T[3,4] d | T[3,4] c
fd : type_as | T[3,4] d[2]
)";

}  // namespace

std::vector<Sample> make_composites(uint64_t seed) {
  std::vector<Sample> samples;
  read_table(kTable, seed, samples);
  return samples;
}

}  // namespace antegrad::samples
