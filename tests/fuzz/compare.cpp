#include "fuzz/compare.h"

#include <ATen/ATen.h>
#include <c10/util/StringUtil.h>

#include <cmath>
#include <cstring>
#include <iomanip>

#include "fuzz/script.h"

namespace antegrad::fuzz {
namespace {

using at::Tensor;
using Difference = std::optional<std::string>;

template <typename T>
bool equal_or_nan(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return a == b;
  else
    return a == b || (std::isnan(static_cast<double>(a)) && std::isnan(static_cast<double>(b)));
}

template <typename T>
Difference first_unequal(const Tensor& eager, const Tensor& compiled) {
  const auto* a = static_cast<const T*>(eager.const_data_ptr());
  const auto* b = static_cast<const T*>(compiled.const_data_ptr());
  const int64_t numel = eager.numel() * eager.itemsize() / static_cast<int64_t>(sizeof(T));
  for (int64_t i = 0; i < numel; ++i)
    if (!equal_or_nan(a[i], b[i]))
      return c10::str(std::setprecision(17), "element ", i, " of ", numel, " is ", static_cast<double>(a[i]),
                      " in eager and ", static_cast<double>(b[i]), " compiled");
  return std::nullopt;
}

Tensor whole_storage(const Tensor& tensor) {
  const auto numel = static_cast<int64_t>(tensor.storage().nbytes() / tensor.itemsize());
  return at::empty({0}, tensor.options()).set_(tensor.storage(), 0, {numel}, {1});
}

/// Zero tensors of autograd have no memory.
Tensor materialized(const Tensor& tensor) {
  return tensor._is_zerotensor() ? at::zeros(tensor.sizes(), tensor.options()) : tensor;
}

/// Only LibTorch's kernels round as eager does.
Difference difference_of_values(const Tensor& a, const Tensor& b, const CheckOptions& options) {
  const bool exact = !options.autograd && test::runs_libtorch_kernels();
  return exact ? value_difference(a, b) : close_difference(a, b, options);
}

template <typename T>
Difference differs(const char* what, const T& eager, const T& compiled) {
  if (eager == compiled) return std::nullopt;
  return c10::str(what, " is ", eager, " in eager and ", compiled, " compiled");
}

Difference stride_difference(const Tensor& eager, const Tensor& compiled, const CheckOptions& options) {
  if (eager.strides() == compiled.strides()) return std::nullopt;
  bool matters = options.unit_strides;
  for (int64_t d = 0; d < eager.dim() && eager.numel() > 0; ++d)
    matters |= eager.size(d) != 1 && eager.stride(d) != compiled.stride(d);
  if (!matters) return std::nullopt;
  return differs("strides", to_string(eager.strides().vec()), to_string(compiled.strides().vec()));
}

constexpr const char* kNoAnswer = "an error";

/// Autograd refuses to say for some views whose base was changed in place.
const char* grad_fn_of(const Tensor& tensor) {
  try {
    return tensor.grad_fn() ? "there" : "none";
  } catch (const c10::Error&) {
    return kNoAnswer;
  }
}

Difference tensor_difference(const Tracked& t, const CheckOptions& options) {
  const Tensor &a = t.eager, &b = t.compiled;
  if (auto d = differs("defined()", a.defined(), b.defined()); d || !a.defined()) return d;
  if (a.scalar_type() != b.scalar_type())
    return c10::str("dtype is ", c10::toString(a.scalar_type()), " in eager and ",
                    c10::toString(b.scalar_type()), " compiled");
  if (auto d = differs("sizes", to_string(a.sizes().vec()), to_string(b.sizes().vec()))) return d;
  if (auto d = stride_difference(a, b, options)) return d;
  if (auto d = differs("storage_offset", a.storage_offset(), b.storage_offset())) return d;
  if (auto d = differs("requires_grad", a.requires_grad(), b.requires_grad())) return d;
  if (options.views)
    if (auto d = differs("is_view()", a.is_view(), b.is_view())) return d;
  if (options.autograd) {
    const std::string expected = grad_fn_of(a), actual = grad_fn_of(b);  // which also updates views
    if (expected != kNoAnswer) {
      if (auto d = differs("grad_fn()", expected, actual)) return d;
      if (auto d = differs("is_leaf()", a.is_leaf(), b.is_leaf())) return d;
    }
  }
  if (auto d = difference_of_values(a, b, options)) return d;
  if (t.output) return std::nullopt;
  if (auto d = differs("storage size in bytes", a.storage().nbytes(), b.storage().nbytes())) return d;
  if (auto d = difference_of_values(whole_storage(a), whole_storage(b), options))
    return "in the storage, " + *d;
  return std::nullopt;
}

/// Returns the first tensor of the list for which `related` holds: equal lists of these mean equal classes.
template <typename Related>
std::string first_related(const std::vector<Tracked>& tensors, Tensor Tracked::*world, Related related) {
  for (const Tracked& other : tensors)
    if ((other.*world).defined() && related(other.*world)) return other.name;
  return "nothing known";
}

Difference relation_difference(const std::vector<Tracked>& tensors, const Tracked& t,
                               const CheckOptions& options) {
  auto identity = [&](Tensor Tracked::*world) {
    return first_related(tensors, world, [&](const Tensor& other) { return other.is_same(t.*world); });
  };
  if (auto d =
          differs("the tensor it is identical to", identity(&Tracked::eager), identity(&Tracked::compiled)))
    return d;
  auto storage = [&](Tensor Tracked::*world) {
    return first_related(tensors, world, [&](const Tensor& other) {
      return other.storage().unsafeGetStorageImpl() == (t.*world).storage().unsafeGetStorageImpl();
    });
  };
  if (auto d =
          differs("the tensor it shares storage with", storage(&Tracked::eager), storage(&Tracked::compiled)))
    return d;
  if (!options.views || !t.eager.is_view()) return std::nullopt;
  auto base = [&](Tensor Tracked::*world) {
    return first_related(tensors, world,
                         [&](const Tensor& other) { return other.is_same((t.*world)._base()); });
  };
  return differs("the base it is a view of", base(&Tracked::eager), base(&Tracked::compiled));
}

}  // namespace

/// Zeros of both signs are equal: eager's own maximum and clamp return either, depending on strides.
std::optional<std::string> value_difference(const Tensor& eager, const Tensor& compiled) {
  const ScriptPause pause;
  const Tensor a = eager.contiguous().cpu(), b = compiled.contiguous().cpu();
  const auto bytes = static_cast<size_t>(a.numel() * a.itemsize());
  if (bytes == 0 || std::memcmp(a.const_data_ptr(), b.const_data_ptr(), bytes) == 0) return std::nullopt;
  switch (a.scalar_type()) {
    case at::kFloat:
    case at::kComplexFloat:
      return first_unequal<float>(a, b);
    case at::kDouble:
      return first_unequal<double>(a, b);
    case at::kBFloat16:
      return first_unequal<c10::BFloat16>(a, b);
    case at::kHalf:
      return first_unequal<c10::Half>(a, b);
    case at::kLong:
      return first_unequal<int64_t>(a, b);
    case at::kInt:
      return first_unequal<int32_t>(a, b);
    default:
      return first_unequal<uint8_t>(a, b);
  }
}

std::optional<std::string> close_difference(const Tensor& eager, const Tensor& compiled,
                                            const CheckOptions& options) {
  const ScriptPause pause;
  const at::NoGradGuard no_grad;
  const Tensor a = materialized(eager), b = materialized(compiled);
  if (options.comparisons) return options.comparisons->difference(a, b);
  return test::up_to_rounding(a, b) ? std::nullopt : value_difference(a, b);
}

std::optional<std::string> first_difference(const std::vector<Tracked>& tensors,
                                            const CheckOptions& options) {
  const ScriptPause pause;
  for (const Tracked& t : tensors)
    if (auto d = tensor_difference(t, options)) return t.name + ": " + *d;
  for (const Tracked& t : tensors)
    if (t.eager.defined())
      if (auto d = relation_difference(tensors, t, options)) return t.name + ": " + *d;
  return std::nullopt;
}

}  // namespace antegrad::fuzz
