#pragma once
// Ops for which a compiled function may give other gradients than eager, with the reasons. A test checks that
// each exception is still needed.
#include <string>
#include <string_view>

namespace antegrad::test {

enum class Differs {
  Wrong,          ///< never allowed
  Rounding,       ///< values differ in the last bits, or in the sign of zero
  Layout,         ///< equal values, other strides
  RefusedFirst,   ///< compiled refuses to differentiate
  RefusedSecond,  ///< compiled refuses to differentiate twice
  OtherWords,     ///< both refuse at the same stage, with other messages
  NotRefused,     ///< eager refuses to differentiate, compiled does not
};

struct Exception {
  std::string_view op;  ///< without namespace, _foreach_ and the underscore of in-place ops
  Differs how;
  std::string_view why;
};

inline constexpr std::string_view kLooksAtData =
    "eager's formula looks at data (are there zeros, how often does the maximum occur); capture takes the "
    "formula that LibTorch has for tensors without";
inline constexpr std::string_view kOrderOfSum =
    "a sum of three and more gradients, one of which is the tangent itself: added in another order";
inline constexpr std::string_view kAlignment =
    "LAPACK rounds as the memory happens to be aligned: eager differs from eager";
inline constexpr std::string_view kIllDefined =
    "eager looks at data to see whether a loss of complex eigenvectors is well-defined";
inline constexpr std::string_view kReadsData = "the formula, or a check in it, needs data; there is no other";

inline constexpr Exception kExceptions[] = {
    {"prod", Differs::Rounding, kLooksAtData},
    {"prod.dim_int", Differs::Rounding, kLooksAtData},
    {"cumprod", Differs::Rounding, kLooksAtData},
    {"prod", Differs::Layout, kLooksAtData},
    {"prod.dim_int", Differs::Layout, kLooksAtData},
    {"linalg_vander", Differs::Rounding, kLooksAtData},
    {"masked_fill.Tensor", Differs::Rounding, kLooksAtData},
    {"max", Differs::Rounding, kLooksAtData},
    {"max", Differs::Layout, kLooksAtData},
    {"min", Differs::Layout, kLooksAtData},
    {"median", Differs::Layout, kLooksAtData},
    {"nanmedian", Differs::Layout, kLooksAtData},
    {"_linalg_det", Differs::Layout, kLooksAtData},
    {"linalg_det", Differs::Layout, kLooksAtData},
    {"_linalg_eigh", Differs::Layout, kLooksAtData},
    {"linalg_eigh", Differs::Layout, kLooksAtData},
    {"linalg_matrix_exp", Differs::Layout, kLooksAtData},
    {"matrix_exp", Differs::Layout, kLooksAtData},
    {"addmm", Differs::Rounding, kOrderOfSum},
    {"addbmm", Differs::Rounding, kOrderOfSum},
    {"baddbmm", Differs::Rounding, kOrderOfSum},
    {"addmv", Differs::Rounding, kOrderOfSum},
    {"addr", Differs::Rounding, kOrderOfSum},
    {"addcmul", Differs::Rounding, kOrderOfSum},
    {"addcdiv", Differs::Rounding, kOrderOfSum},
    {"addcmul.Scalar", Differs::Rounding, kOrderOfSum},
    {"addcdiv.Scalar", Differs::Rounding, kOrderOfSum},
    {"addcmul.ScalarList", Differs::Rounding, kOrderOfSum},
    {"addcdiv.ScalarList", Differs::Rounding, kOrderOfSum},
    {"linalg_lstsq", Differs::Rounding, kAlignment},
    {"linalg_solve_triangular", Differs::Rounding, kAlignment},
    {"linalg.eig", Differs::Layout, kLooksAtData},
    {"_linalg_det", Differs::RefusedSecond, kReadsData},
    {"index_fill.int_Tensor", Differs::RefusedFirst, kReadsData},
    {"index_put", Differs::RefusedFirst, "a mask selects the gradient of the values: of data-dependent size"},
    {"_linalg_svd", Differs::RefusedFirst, kReadsData},
    {"index_reduce", Differs::RefusedSecond, kReadsData},
    {"scatter_reduce.two", Differs::RefusedSecond, kReadsData},
    {"trace", Differs::RefusedSecond, kReadsData},
    {"_embedding_bag", Differs::OtherWords,
     "two of its formulas have no derivative; which is met first differs"},
    {"linalg_eig", Differs::NotRefused, kIllDefined},
    {"_linalg_eigh", Differs::NotRefused, kIllDefined},
};

/// Maps "aten::_foreach_exp_.Scalar" to "exp.Scalar".
inline std::string stem_of(std::string op) {
  if (op.starts_with("aten::")) op.erase(0, 6);
  if (op.starts_with("_foreach_")) op.erase(0, 9);
  const auto dot = op.find('.');
  const auto end = dot == std::string::npos ? op.size() : dot;
  if (end > 1 && op[end - 1] == '_' && !op.starts_with("__")) op.erase(end - 1, 1);
  return op;
}

}  // namespace antegrad::test
