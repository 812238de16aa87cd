// Ops with a composite kernel that cannot run on meta tensors because it calls ops without a meta kernel, or
// with a meta kernel whose strides differ from the CPU's.
#include <ATen/ATen.h>
#include <ATen/ExpandUtils.h>

#include "capture/rules/shapes.h"

namespace antegrad::capture::rules {
namespace {

using OptionalType = std::optional<at::ScalarType>;
using Tensors = std::vector<Tensor>;

template <class F>
Tensors each(const Tensors& tensors, F rule) {
  Tensors results;
  for (const auto& x : tensors) results.push_back(rule(x));
  return results;
}

Tensors clones(const Tensors& tensors) {
  return each(tensors, [](const Tensor& x) { return like(x); });
}

Tensor range(int64_t steps, OptionalType dtype) {
  return empty({steps}, dtype.value_or(at::typeMetaToScalarType(at::get_default_dtype())));
}

void add_pointwise(RuleTable& table) {
  table.add("isinf", [](const Tensor& x) { return pointwise({x}, kBool); });
  auto ldexp = [](const Tensor& x, const Tensor& exponent) {
    const bool whole = !at::isFloatingType(exponent.scalar_type());
    const auto dtype = whole && at::isFloatingType(x.scalar_type())
                           ? x.scalar_type()
                           : float_type(at::result_type(x, exponent));
    return pointwise({x, pointwise({exponent}, dtype)}, dtype);  // x * 2^exponent
  };
  table.add("ldexp.Tensor", ldexp);
  table.add_out("ldexp.out", ldexp);
  table.add("isin.Scalar_Tensor", [](Skip) { return empty({}, kBool); });
  table.add("_safe_softmax", [](const Tensor& x, int64_t dim, OptionalType dtype) {
    Tensor result = at::softmax(x, dim, dtype);
    return pointwise({empty(reduced(x, dim, true), kBool), result}, result.scalar_type());
  });
  table.add("binary_cross_entropy_with_logits",
            [](const Tensor& x, const Tensor& target, const Tensor& weight, const Tensor& scale,
               int64_t reduction) {
              auto dtype = at::result_type(x, target);
              if (!keeps_elements(reduction)) return empty({}, dtype);
              Tensor result = pointwise({target}, dtype);
              return weight.defined() || scale.defined() ? pointwise({result, x}, dtype) : result;
            });
}

void add_reductions(RuleTable& table) {
  table.add("logsumexp", [](const Tensor& x, Sizes dims, bool keepdim) {
    return empty(reduced(x, dims, keepdim), float_type(x.scalar_type()));
  });
  table.add("linalg__powsum",
            [](const Tensor& x, Skip, std::optional<Sizes> dims, bool keepdim, OptionalType dtype) {
              return empty(reduced(x, dims, keepdim), at::toRealValueType(dtype.value_or(x.scalar_type())));
            });
}

void add_indexing(RuleTable& table) {
  table.add("embedding", [](const Tensor& weight, const Tensor& indices) {
    TORCH_CHECK(weight.dim() == 2, "'weight' must be 2-D");
    Sizes sizes = indices.sizes().vec();
    sizes.push_back(weight.size(1));
    return empty(sizes, weight.scalar_type());
  });
  table.add("rot90", [](const Tensor& x, int64_t k, Sizes dims) {
    TORCH_CHECK(dims.size() == 2, "expected total rotation dims == 2, but got dims = ", dims.size());
    int64_t turns = (k % 4 + 4) % 4;
    if (turns == 0) return contiguous_like(x);
    return turns == 2 ? like(x) : like(x).transpose(dims[0], dims[1]);
  });
  table.add("masked_scatter_backward",
            [](const Tensor& grad, Skip, Sizes sizes) { return empty(sizes, grad.scalar_type()); });
  table.add("_unsafe_masked_index", [](const Tensor& x, Skip, c10::List<std::optional<Tensor>> indices) {
    return at::index(x, indices);
  });
  table.add("_unsafe_masked_index_put_accumulate", [](const Tensor& x) { return like(x); });
  table.add({"linspace.Tensor_Tensor", "linspace.Tensor_Scalar", "linspace.Scalar_Tensor"},
            [](Skip, Skip, int64_t steps, OptionalType dtype) { return range(steps, dtype); });
  table.add({"logspace.Tensor_Tensor", "logspace.Tensor_Scalar", "logspace.Scalar_Tensor"},
            [](Skip, Skip, int64_t steps, Skip, OptionalType dtype) { return range(steps, dtype); });
}

/// Returns x with (left, right) added to its last dim, to the one before it, and so on, in the suggested
/// memory format.
Tensor padded(const Tensor& x, const Sizes& pad) {
  Sizes sizes = x.sizes().vec();
  size_t count = pad.size() / 2;
  TORCH_CHECK(sizes.size() == count + 1 || sizes.size() == count + 2, "Expected ", count + 1, "D or ",
              count + 2, "D input, but got: ", x.sizes());
  for (size_t i = 0; i < count; ++i) {
    int64_t& size = sizes[sizes.size() - 1 - i];
    size += pad[2 * i] + pad[2 * i + 1];
    TORCH_CHECK(size >= 1, "input ", x.sizes(), " is too small for padding ", at::IntArrayRef(pad));
  }
  return empty(sizes, x.scalar_type(), x.suggest_memory_format());
}

void add_images(RuleTable& table) {
  table.add("pixel_shuffle", [](const Tensor& x, int64_t factor) {
    TORCH_CHECK(x.dim() >= 3 && factor > 0 && x.size(-3) % (factor * factor) == 0,
                "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of "
                "upscale_factor, got ",
                x.sizes(), " and ", factor);
    Sizes image = {x.size(-3) / (factor * factor), x.size(-2) * factor, x.size(-1) * factor};
    return empty(with_last(x.sizes(), image), x.scalar_type(), x.suggest_memory_format());
  });
  table.add("pixel_unshuffle", [](const Tensor& x, int64_t factor) {
    TORCH_CHECK(x.dim() >= 3 && factor > 0 && x.size(-1) % factor == 0 && x.size(-2) % factor == 0,
                "pixel_unshuffle expects width and height to be divisible by downscale_factor, got ",
                x.sizes(), " and ", factor);
    Sizes image = {x.size(-3) * factor * factor, x.size(-2) / factor, x.size(-1) / factor};
    return empty(with_last(x.sizes(), image), x.scalar_type(), x.suggest_memory_format());
  });
  table.add({"replication_pad2d", "replication_pad3d"},
            [](const Tensor& x, Sizes pad) { return padded(x, pad); });
  table.add("reflection_pad3d", [](const Tensor& x, Sizes pad) {
    for (size_t i = 0; i < pad.size(); ++i) {
      TORCH_CHECK(pad[i] < x.size(-1 - static_cast<int64_t>(i / 2)),
                  "Padding size should be less than the corresponding input dimension, but got padding ",
                  at::IntArrayRef(pad), " for input ", x.sizes());
    }
    return padded(x, pad);
  });
  table.add("reflection_pad3d_backward", [](Skip, const Tensor& x) { return suggested_like(x); });
}

void add_linalg(RuleTable& table) {
  table.add("cholesky_solve", [](const Tensor& b, const Tensor& a) {
    Sizes sizes = at::infer_size(a.sizes().slice(0, a.dim() - 2), b.sizes().slice(0, b.dim() - 2));
    sizes.insert(sizes.end(), {b.size(-2), b.size(-1)});
    return column_major(sizes, b.scalar_type());
  });
  table.add("linalg_pinv.atol_rtol_tensor", [](const Tensor& x) {
    return empty(with_last(x.sizes(), {x.size(-1), x.size(-2)}), x.scalar_type());
  });
}

void add_lists(RuleTable& table) {
  table.add("_foreach_abs", [](Tensors x) {
    return each(x, [](const Tensor& t) { return pointwise({t}, at::toRealValueType(t.scalar_type())); });
  });
  table.add("_foreach_max",
            [](Tensors x) { return each(x, [](const Tensor& t) { return empty({}, t.scalar_type()); }); });
  table.add("_foreach_powsum.Scalar", [](Tensors x, Skip, OptionalType dtype) {
    return each(
        x, [&](const Tensor& t) { return empty({}, at::toRealValueType(dtype.value_or(t.scalar_type()))); });
  });
  table.add({"_foreach_addcdiv.Tensor", "_foreach_addcmul.Tensor"}, [](Tensors x, Tensors a, Tensors b) {
    Tensors results;
    for (size_t i = 0; i < x.size(); ++i) results.push_back(at::addcmul(x[i], a.at(i), b.at(i)));
    return results;
  });
  table.add({"_foreach_abs_", "_foreach_addcdiv_.Tensor", "_foreach_addcmul_.Tensor"}, [](Skip) {});
  table.add({"_fused_adam", "_fused_adam.tensor_lr", "_fused_adamw", "_fused_adamw.tensor_lr"},
            [](Tensors x, Tensors grads, Tensors first, Tensors second, Tensors largest) {
              return std::tuple(clones(x), clones(grads), clones(first), clones(second), clones(largest));
            });
  table.add({"_fused_sgd", "_fused_sgd.tensor_lr", "_fused_adagrad.tensor_lr"},
            [](Tensors x, Tensors grads, Tensors state) {
              return std::tuple(clones(x), clones(grads), clones(state));
            });
  table.add("_fused_adagrad", [](Tensors x, Tensors grads, Tensors sums, Tensors steps) {
    return std::tuple(clones(x), clones(grads), clones(sums), clones(steps));
  });
}

}  // namespace

void add_composite_rules(RuleTable& table) {
  add_pointwise(table);
  add_reductions(table);
  add_indexing(table);
  add_images(table);
  add_linalg(table);
  add_lists(table);
}

}  // namespace antegrad::capture::rules
