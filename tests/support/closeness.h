#pragma once
// How results of compiled functions are compared with eager's: bit for bit where LibTorch's kernels compute
// them (ANTEGRAD_BACKEND=eager), up to rounding where generated code does. Each element has a bound of its
// own: a large element does not excuse an error in a small one.
#include <ATen/ATen.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/rounding.h"

namespace antegrad::test {

using Tensors = std::vector<at::Tensor>;

inline bool runs_libtorch_kernels() {
  const char* backend = std::getenv("ANTEGRAD_BACKEND");
  return backend != nullptr && std::string_view(backend) == "eager";
}

/// The relative error that a few dozen roundings add up to when nothing cancels. For half types only a few:
/// compiled code rounds them less often than eager does.
inline double rounding_of(at::ScalarType type) {
  const bool is_short = type == at::kHalf || type == at::kBFloat16;
  return epsilon_of(type) * (is_short ? 6 : 64);
}

bool same_bits(const at::Tensor& a, const at::Tensor& b);

/// Returns a mask of the elements that differ by more than `rounding` (relative to the element of `eager`)
/// plus `allowed`, which has the same sizes, or is undefined for none. NaNs are equal to each other.
at::Tensor wrong_elements(const at::Tensor& eager, const at::Tensor& compiled, double rounding,
                          const at::Tensor& allowed = {});

/// Describes the first wrong element: "element 3 of 8 is 1 in eager and 2 compiled".
std::string describe_wrong(const at::Tensor& wrong, const at::Tensor& eager, const at::Tensor& compiled,
                           const at::Tensor& allowed = {});

/// For results in which nothing cancels.
inline bool up_to_relative_rounding(const at::Tensor& eager, const at::Tensor& compiled) {
  return same_bits(eager, compiled) ||
         !wrong_elements(eager, compiled, rounding_of(eager.scalar_type())).any().item<bool>();
}

/// For results of unknown origin: allows for the cancellation of numbers of about 1, whatever the size of the
/// result.
inline bool up_to_rounding(const at::Tensor& eager, const at::Tensor& compiled) {
  if (up_to_relative_rounding(eager, compiled)) return true;
  const auto rounding = rounding_of(eager.scalar_type());
  const auto cancelled = at::full(eager.sizes(), rounding / 2, at::kDouble);
  return !wrong_elements(eager, compiled, rounding, cancelled).any().item<bool>();
}

inline bool same_values(const at::Tensor& eager, const at::Tensor& compiled) {
  return runs_libtorch_kernels() ? same_bits(eager, compiled) : up_to_rounding(eager, compiled);
}

/// Eager's results, and how far a correct result may be from each element: the computation is repeated with
/// perturbed roundings, which shows what cancels. `eager` must make new inputs in every run.
class Reference {
 public:
  explicit Reference(std::function<Tensors()> eager) : eager_(std::move(eager)), values_(eager_()) {}
  /// For a computation that was already run and gave `values`.
  Reference(std::function<Tensors()> eager, Tensors values)
      : eager_(std::move(eager)), values_(std::move(values)) {}

  const Tensors& values() const { return values_; }
  /// Compares result number `index`.
  std::optional<std::string> difference(size_t index, const at::Tensor& compiled);
  /// Compares all results: their number, definedness, dtypes, sizes and values. Returns the first difference.
  std::optional<std::string> difference(const Tensors& compiled);

 private:
  std::function<Tensors()> eager_;
  Tensors values_;
  std::optional<Tensors> allowed_;  ///< computed when first needed
};

/// The comparisons of a check with many steps. When one seems to fail, the check is repeated with eager on
/// both sides and perturbed roundings; how far eager's values move then is how far results may be apart.
class Comparisons {
 public:
  using Check = std::function<void(Comparisons&)>;
  /// `eager_check` checks eager against itself.
  explicit Comparisons(Check eager_check) : eager_check_(std::move(eager_check)) {}

  /// Compares element by element; both tensors have one dtype and shape, complex and integral dtypes
  /// included.
  std::optional<std::string> difference(const at::Tensor& eager, const at::Tensor& compiled);

 private:
  Comparisons() = default;
  at::Tensor allowed(const at::Tensor& eager);

  Check eager_check_;  ///< empty in a repetition, where everything counts as equal
  Tensors seen_;       ///< in a repetition
  size_t count_ = 0;
  std::optional<std::vector<Tensors>> repeated_;
};

}  // namespace antegrad::test
