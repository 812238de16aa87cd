// Every shape rule against the CPU kernel: dtype, sizes, strides and definedness of all results.
#include "cpu/ops/shape_rules_fixture.h"

namespace antegrad::capture::check {
namespace {

TEST_F(ShapeRules, Pointwise) {
  for (const char* name : {"logical_and", "logical_or", "logical_xor", "floor_divide"}) {
    call(name, {f({2, 3, 4, 5}), f({3, 1, 5})});
    call(name, {ints({4, 5}, 9) + 1, f({4, 5})});
    call(name, {f({4, 5}), f({})});
  }
  for (const char* name : {"logical_not", "isnan", "relu", "hardswish", "abs", "angle", "nan_to_num", "logit",
                           "_conj_physical", "mvlgamma", "hardtanh", "rrelu_with_noise"}) {
    Tensor x = f({2, 3, 4, 5}) + (std::string(name) == "mvlgamma" ? 2 : 0);
    if (std::string(name) == "mvlgamma") {
      call(name, {x, 2});
    } else if (std::string(name) == "rrelu_with_noise") {
      call(name, {x, x.clone()});
    } else {
      call(name, {x});
    }
  }
  call("abs", {cplx({3, 4})});
  call("angle", {cplx({3, 4})});
  call("angle", {ints({3, 4}, 5)});
  call("_conj_physical", {cplx({3, 4})});
  call("logit", {f({3, 4}), 1e-3});
  call("__lshift__.Tensor", {ints({3, 4}, 5), ints({4}, 3)});
  call("__rshift__.Tensor", {ints({3, 4}, 5), ints({4}, 3)});
  call("__lshift__.Scalar", {ints({3, 4}, 5), 1});
  call("__rshift__.Scalar", {ints({3, 4}, 5), 1});
  call("where.self", {bools({2, 3, 4, 5}), f({2, 3, 4, 5}), f({4, 1})});
  call("where.self", {bools({4, 1}), f({2, 3, 4, 5}), ints({2, 3, 4, 5}, 7)});
  call("where.self", {bools({3, 4}), f({}), f({3, 4})});
  call("remainder.Scalar_Tensor", {3, f({2, 3})});
  call("remainder.Scalar_Tensor", {2.5, ints({2, 3}, 4) + 1});
  call("floor_divide.Scalar", {ints({2, 3}, 4), 2.5});
  call("rsub.Tensor", {f({2, 3, 4, 5}), f({4, 1})});
  call("rsub.Scalar", {ints({2, 3}, 4), 1.5});
  call("_add_relu.Tensor", {f({2, 3}), f({2, 3})});
  call("complex", {f({2, 3, 4}), f({4})});
  call("polar", {f({2, 3, 4}), f({4})});
  call("frexp.Tensor", {f({2, 3, 4})});
}

TEST_F(ShapeRules, Activations) {
  for (const char* name : {"hardswish_backward", "log_sigmoid_backward", "hardtanh_backward"}) {
    Stack args = {f({2, 3, 4, 5}), f({2, 3, 4, 5})};
    if (std::string(name) == "log_sigmoid_backward") args.emplace_back(f({2, 3, 4, 5}));
    if (std::string(name) == "hardtanh_backward") args.insert(args.end(), {-1, 1});
    call(name, args);
  }
  call("log_sigmoid_forward", {f({2, 3, 4, 5})});
  call("glu_backward", {f({2, 3, 4, 5}), f({2, 6, 4, 5}), 1});
  call("glu_jvp", {f({2, 3, 4, 5}), f({2, 6, 4, 5}), f({2, 6, 4, 5}), 1});
  call("glu_backward_jvp", {f({2, 6, 4}), f({2, 3, 4}), f({2, 6, 4}), f({2, 3, 4}), f({2, 6, 4}), 1});
  call("_prelu_kernel", {f({2, 3, 4, 5}), f({3, 1, 1})});
  call("_prelu_kernel_backward", {f({2, 3, 4, 5}), f({2, 3, 4, 5}), f({3, 1, 1})});
  call("_masked_softmax", {f({2, 3, 4, 4}), bools({2, 3, 4, 4}), 3, 2});
  call("_masked_softmax_backward", {f({2, 3, 4, 4}), f({2, 3, 4, 4}), bools({2, 3, 4, 4}), 3});
}

TEST_F(ShapeRules, Random) {
  for (const char* name : {"poisson", "_standard_gamma", "_sample_dirichlet", "bernoulli"})
    call(name, {f({2, 3, 4, 5})});
  call("binomial", {f({2, 3}) * 8, f({2, 3})});
  call("_dirichlet_grad", {f({2, 3}), f({2, 3}), f({2, 3})});
  call("_standard_gamma_grad", {f({2, 3, 4}), f({2, 3, 4})});
  call("native_dropout", {f({2, 3, 4, 5}), 0.3, true});
  call("native_dropout", {f({2, 3, 4, 5}), 0.3, false});
  call("native_dropout", {f({2, 0}), 0.3, true});
  call("native_dropout_backward", {f({2, 3, 4, 5}), bools({2, 3, 4, 5}), 2.0});
  call("multinomial", {f({4, 5}), 3});
  call("multinomial", {f({4, 5}), 1});
  call("multinomial", {f({5}), 7, true});
  call("randperm", {6});
  call("randperm.generator", {6, kNone});
}

TEST_F(ShapeRules, Losses) {
  for (int64_t reduction : {0, 1, 2}) {
    Tensor x = f({2, 3, 4, 5}), y = f({2, 3, 4, 5}), grad = reduction == 0 ? f({2, 3, 4, 5}) : f({});
    call("binary_cross_entropy", {x, y, kNone, reduction});
    call("binary_cross_entropy_backward", {grad, x, y, f({5}), reduction});
    call("huber_loss", {x, y, reduction, 0.5});
    call("huber_loss_backward", {grad, x, y, reduction, 0.5});
    call("smooth_l1_loss_backward", {grad, x, y, reduction, 0.5});
    call("mse_loss_backward", {grad, x, y, reduction});
    call("multi_margin_loss", {f({4, 5}), ints({4}, 5), 1, 1, kNone, reduction});
    call("multi_margin_loss", {f({5}), ints({}, 5), 1, 1, kNone, reduction});
    call("multi_margin_loss", {f({5}), ints({1}, 5), 1, 1, kNone, reduction});
    Tensor margin_grad = reduction == 0 ? f({4}) : f({});
    call("multi_margin_loss_backward", {margin_grad, f({4, 5}), ints({4}, 5), 1, 1, kNone, reduction});
    call("multilabel_margin_loss_forward", {f({4, 5}), ints({4, 5}, 5), reduction});
    call("multilabel_margin_loss_forward", {f({5}), ints({5}, 5), reduction});
    call("multilabel_margin_loss_backward",
         {margin_grad, f({4, 5}), ints({4, 5}, 5), reduction, at::zeros({4, 5})});
    Tensor pixel_grad = reduction == 0 ? f({2, 4, 5}) : f({});
    call("nll_loss2d_forward", {x, ints({2, 4, 5}, 3), kNone, reduction, -100});
    call("nll_loss2d_backward", {pixel_grad, x, ints({2, 4, 5}, 3), kNone, reduction, -100, at::ones({})});
  }
  Tensor probs = f({6, 2, 5}).log_softmax(-1), targets = ints({2, 3}, 4) + 1;
  Ints in = {6, 6}, out = {3, 3};
  auto [loss, alpha] = at::_ctc_loss(probs, targets, in, out);
  call("_ctc_loss_backward", {f({2}), probs, targets, in, out, loss, alpha, 0});
}

TEST_F(ShapeRules, Reductions) {
  Tensor x = f({2, 3, 4, 5});
  for (const char* name :
       {"max", "min", "median", "nanmedian", "prod", "nansum", "count_nonzero", "_aminmax", "mode",
        "var.correction", "std.correction", "var_mean.correction", "std_mean.correction", "histc"}) {
    call(name, {x});
  }
  call("prod", {ints({3, 4}, 3)});
  call("prod", {ints({3, 4}, 3), at::kFloat});
  for (bool keepdim : {false, true}) {
    call("nansum", {x, Ints{1, -1}, keepdim});
    call("nansum", {ints({3, 4}, 3), Ints{0}, keepdim});
    for (const char* name :
         {"var.correction", "std.correction", "var_mean.correction", "std_mean.correction"}) {
      call(name, {x, Ints{0, 2}, 1, keepdim});
      call(name, {cplx({3, 4}), Ints{0}, 1, keepdim});
      call(name, {x, Ints{}, 1, keepdim});
    }
    for (const char* name : {"median.dim", "nanmedian.dim", "mode", "_aminmax.dim"}) {
      call(name, {x, 1, keepdim});
      call(name, {f({}), 0, keepdim});
    }
    call("kthvalue", {x, 2, -2, keepdim});
  }
  call("count_nonzero.dim_IntList", {x, Ints{1, 2}});
  call("count_nonzero", {x, 1});
  call("trace", {f({3, 4})});
  call("trace", {ints({3, 4}, 5)});
  call("dot", {f({5}), f({5})});
  call("vdot", {cplx({5}), cplx({5})});
  for (const char* name : {"_logcumsumexp", "logcumsumexp", "cummax", "cummin"}) call(name, {x, 2});
  call("histogram.bin_ct", {f({20}), 4});
  call("histogram.bins_tensor", {f({20}), at::linspace(0, 1, 5)});
  call("_histogramdd_from_bin_cts", {f({20, 2}), Ints{4, 3}});
  call("_histogramdd_bin_edges", {f({20, 2}), Ints{4, 3}});
  call("_histogramdd_from_bin_tensors",
       {f({20, 2}), std::vector<Tensor>{at::linspace(0, 1, 5), at::linspace(0, 1, 4)}});
}

TEST_F(ShapeRules, Composites) {
  Tensor x = f({2, 3, 4, 5}), y = f({2, 3, 4, 5});
  call("isinf", {x});
  call("isinf", {ints({3, 4}, 5)});
  call("ldexp.Tensor", {x, ints({5}, 3)});
  call("_safe_softmax", {x, 2});
  for (int64_t reduction : {0, 1}) {
    call("binary_cross_entropy_with_logits", {x, y, kNone, kNone, reduction});
    call("binary_cross_entropy_with_logits", {x, y, f({5}), f({5}), reduction});
  }
  call("logsumexp", {x, Ints{1, 3}, true});
  call("logsumexp", {ints({3, 4}, 5), Ints{1}});
  call("embedding", {f({7, 4}), ints({2, 3}, 7)});
  call("embedding", {f({7, 4}), ints({}, 7)});
  for (int64_t k = -1; k < 4; ++k) call("rot90", {x, k, Ints{1, 3}});
  call("pixel_shuffle", {f({2, 8, 3, 4}), 2});
  call("pixel_shuffle", {f({8, 3, 4}), 2});
  call("pixel_unshuffle", {f({2, 3, 4, 6}), 2});
  call("replication_pad2d", {x, Ints{1, 2, 0, 1}});
  call("replication_pad2d", {f({3, 4, 5}), Ints{1, 2, 0, 1}});
  for (const char* name : {"replication_pad3d", "reflection_pad3d"}) {
    call(name, {f({2, 3, 4, 5, 6}), Ints{1, 2, 0, 1, 1, 1}});
    call(name, {f({3, 4, 5, 6}), Ints{1, 2, 0, 1, 1, 1}});
  }
  call("linspace.Tensor_Tensor", {f({}), f({}), 5});
  call("linspace.Tensor_Scalar", {f({}), 2.0, 5});
  call("logspace.Scalar_Tensor", {2.0, f({}), 5});
  Tensor spd = at::eye(4) * 3;
  call("cholesky_solve", {f({2, 4, 3}), spd});
  call("linalg_pinv.atol_rtol_tensor", {f({2, 5, 3})});
  std::vector<Tensor> list = {f({2, 3}), f({4})};
  call("_foreach_abs", {list});
  call("_foreach_max", {list});
  call("_foreach_addcmul.Tensor", {list, list, list, f({2})});
}

TEST_F(ShapeRules, Normalization) {
  Tensor w = f({4}), b = f({4}), mean = f({4}), var = f({4});
  for (Tensor x : {f({2, 4, 5, 6}), f({2, 4, 3, 5, 6}), f({2, 4, 5}), f({3, 4})}) {
    for (bool training : {true, false}) {
      call("native_batch_norm", {x, w, b, mean, var, training, 0.1, 1e-5});
      call("native_batch_norm", {x, kNone, kNone, mean, var, training, 0.1, 1e-5});
      call("_native_batch_norm_legit", {x, w, b, mean, var, training, 0.1, 1e-5});
      call("native_batch_norm_backward",
           {x.clone(), x, w, mean, var, mean, var, training, 1e-5, mask({1, 1, 1})});
      call("native_batch_norm_backward",
           {x.clone(), x, w, mean, var, mean, var, training, 1e-5, mask({0, 1, 0})});
      call("batch_norm_backward", {x.clone(), x, w, mean, var, mean, var, training, 1e-5, mask({1, 1, 1}),
                                   at::empty({0}, at::kByte)});
    }
    call("native_batch_norm_backward",
         {x.clone(), x, kNone, kNone, kNone, mean, var, true, 1e-5, mask({1, 1, 1})});
    call("_native_batch_norm_legit.no_stats", {x, w, b, true, 0.1, 1e-5});
    call("_batch_norm_with_update", {x, w, b, mean, var, 0.1, 1e-5});
    call("_batch_norm_no_update", {x, w, b, mean, var, 0.1, 1e-5});
    call("batch_norm_update_stats", {x, mean, var, 0.1});
    int64_t n = x.size(0), inner = x.numel() / n / 4;
    call("native_group_norm", {x, w, b, n, 4, inner, 2, 1e-5});
    call("native_group_norm", {x, kNone, kNone, n, 4, inner, 2, 1e-5});
    for (auto m : {mask({1, 1, 1}), mask({1, 0, 0})}) {
      call("native_group_norm_backward", {x.clone(), x, f({n, 2}), f({n, 2}), w, n, 4, inner, 2, m});
    }
    call("native_group_norm_backward",
         {x.clone(), x, f({n, 2}), f({n, 2}), kNone, n, 4, inner, 2, mask({1, 0, 0})});
  }
  Tensor half = f({2, 4, 5, 6}).to(at::kBFloat16);
  for (bool training : {true, false}) {
    call("native_batch_norm", {half, w, b, mean, var, training, 0.1, 1e-5});
    call("native_batch_norm", {half, kNone, kNone, mean, var, training, 0.1, 1e-5});
    call("native_batch_norm_backward",
         {half, half, w, mean, var, mean, var, training, 1e-5, mask({1, 1, 1})});
  }
  call("native_group_norm", {half, w, b, 2, 4, 30, 2, 1e-5});
  call("native_group_norm_backward", {half, half, f({2, 2}), f({2, 2}), w, 2, 4, 30, 2, mask({1, 1, 1})});
  call("native_layer_norm", {half, Ints{6}, f({6}), f({6}), 1e-5});
  Tensor half_stat = f({2, 4, 5, 1});
  call("native_layer_norm_backward",
       {half, half, Ints{6}, half_stat, half_stat, f({6}), f({6}), mask({1, 1, 1})});
  Tensor x = f({2, 3, 4, 5}), lw = f({4, 5}), lb = f({4, 5}), stat = f({2, 3, 1, 1});
  call("native_layer_norm", {x, Ints{4, 5}, lw, lb, 1e-5});
  call("native_layer_norm", {x, Ints{4, 5}, kNone, kNone, 1e-5});
  for (auto m : {mask({1, 1, 1}), mask({0, 1, 0}), mask({1, 0, 1})}) {
    call("native_layer_norm_backward", {x.clone(), x, Ints{4, 5}, stat, stat, lw, lb, m});
  }
  call("native_layer_norm_backward", {x.clone(), x, Ints{4, 5}, stat, stat, kNone, kNone, mask({1, 0, 0})});
  call("_weight_norm_interface", {f({4, 3, 2}), f({4, 1, 1}), 0});
  call("_weight_norm_interface_backward", {f({4, 3, 2}), f({4, 3, 2}), f({4, 1, 1}), f({4, 1, 1}), 0});
}

}  // namespace
}  // namespace antegrad::capture::check
