#pragma once
// How results of compiled functions are compared with eager's: bit for bit where LibTorch's kernels compute
// them (ANTEGRAD_BACKEND=eager), up to rounding where generated code does. Rounding is judged for each
// element alone: what large elements may be off by says nothing about small ones.
#include <ATen/ATen.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rounding.h"

namespace antegrad::test {

using Tensors = std::vector<at::Tensor>;

inline bool runs_libtorch_kernels() {
  const char* backend = std::getenv("ANTEGRAD_BACKEND");
  return backend != nullptr && std::string_view(backend) == "eager";
}

/// What a few dozen roundings come to, relative to a number that no larger ones were cancelled for. Of the
/// short types, which are rounded less often compiled than in eager: a few.
inline double rounding_of(at::ScalarType type) {
  const bool is_short = type == at::kHalf || type == at::kBFloat16;
  return epsilon_of(type) * (is_short ? 6 : 64);
}

bool same_bits(const at::Tensor& a, const at::Tensor& b);

/// Elements that differ by more than `rounding`, relative to the element of `eager`, and more than `allowed`
/// (of their sizes, or undefined: nothing more). NaNs are equal to each other.
at::Tensor wrong_elements(const at::Tensor& eager, const at::Tensor& compiled, double rounding,
                          const at::Tensor& allowed = {});

/// "element 3 of 8 is 1 in eager and 2 compiled", for the first of them.
std::string describe_wrong(const at::Tensor& wrong, const at::Tensor& eager, const at::Tensor& compiled,
                           const at::Tensor& allowed = {});

/// For results in which nothing cancels.
inline bool up_to_relative_rounding(const at::Tensor& eager, const at::Tensor& compiled) {
  return same_bits(eager, compiled) ||
         !wrong_elements(eager, compiled, rounding_of(eager.scalar_type())).any().item<bool>();
}

/// For results of which no more is known: numbers about 1 may have cancelled, however large others are.
inline bool up_to_rounding(const at::Tensor& eager, const at::Tensor& compiled) {
  if (up_to_relative_rounding(eager, compiled)) return true;
  const auto rounding = rounding_of(eager.scalar_type());
  const auto cancelled = at::full(eager.sizes(), rounding / 2, at::kDouble);
  return !wrong_elements(eager, compiled, rounding, cancelled).any().item<bool>();
}

inline bool same_values(const at::Tensor& eager, const at::Tensor& compiled) {
  return runs_libtorch_kernels() ? same_bits(eager, compiled) : up_to_rounding(eager, compiled);
}

/// What eager computes, and how far from that, for each element, a right result may be: what sums cancel
/// shows when the computation is repeated with other roundings. `eager` must make its inputs anew at each
/// run.
class Reference {
 public:
  explicit Reference(std::function<Tensors()> eager) : eager_(std::move(eager)), values_(eager_()) {}
  /// Of a computation that was run already, and gave `values`.
  Reference(std::function<Tensors()> eager, Tensors values)
      : eager_(std::move(eager)), values_(std::move(values)) {}

  const Tensors& values() const { return values_; }
  /// Of result number `index`.
  std::optional<std::string> difference(size_t index, const at::Tensor& compiled);
  /// Of all results, in number, definedness, dtypes, sizes and values. The first difference.
  std::optional<std::string> difference(const Tensors& compiled);

 private:
  std::function<Tensors()> eager_;
  Tensors values_;
  std::optional<Tensors> allowed_;  ///< found out when it is needed
};

/// The comparisons of a check, which has many steps. When one of them seems to fail, the check is repeated
/// with eager on both sides and other roundings: what eager has there then is how far results may be apart.
class Comparisons {
 public:
  using Check = std::function<void(Comparisons&)>;
  /// `eager_check` runs the check of eager against itself.
  explicit Comparisons(Check eager_check) : eager_check_(std::move(eager_check)) {}

  /// Per element, of tensors of one dtype and shape. Complex and integral ones, too.
  std::optional<std::string> difference(const at::Tensor& eager, const at::Tensor& compiled);

 private:
  Comparisons() = default;
  at::Tensor allowed(const at::Tensor& eager);

  Check eager_check_;  ///< empty in a repetition: everything is equal then
  Tensors seen_;       ///< in a repetition
  size_t count_ = 0;
  std::optional<std::vector<Tensors>> repeated_;
};

}  // namespace antegrad::test
