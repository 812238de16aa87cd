#pragma once
#include <string_view>

// The table of samples is text, one row per group of calls:
//
//   [dtypes :] op,op,... | arguments | arguments | ...
//
// An indented line continues the row above it; `#` starts a comment line. Every op of a row is called with
// every argument set for the first dtype, and with the first argument set for the other dtypes; `T` in a
// tensor stands for the dtype. Arguments are separated by blanks and read by the type the schema gives them;
// `name=value` sets one by name, and what is left out has the schema's default.
//
//   tensor      dtype[sizes]modifiers; `$k` is the tensor of argument k once more, `$k'` its transposed view
//   dtypes      f f32, d f64, h f16, b bf16, i i64, j i32, s i16, u u8, o bool, c complex64, z complex128
//   layouts     ' last two dimensions transposed, / every second element with an offset, @ channels last,
//               * stride 0 in dimension 0
//   values      [-2, 2) or integers [-4, 4]; + [0.5, 1.5) or [1, 4]; % (0.05, 0.95); <n integers [0, n);
//               ~ ascending along the last dimension; & symmetric positive definite; =(1,2,nan) these
//   others      _ none; 2, 2.5, 2j, true; (1,2) list of numbers (a lone number fills a list of fixed length);
//               {f[2];_;f[3]} list of tensors; a dtype is one letter; a memory format is contiguous,
//               channels_last, preserve
namespace antegrad::samples {

extern const std::string_view kPointwiseTable;
extern const std::string_view kSpecialTable;
extern const std::string_view kReductionsTable;
extern const std::string_view kViewsTable;
extern const std::string_view kShapingTable;
extern const std::string_view kMatmulTable;
extern const std::string_view kLinalgTable;
extern const std::string_view kIndexingTable;
extern const std::string_view kActivationsTable;
extern const std::string_view kLossesTable;
extern const std::string_view kNnTable;
extern const std::string_view kResampleTable;
extern const std::string_view kFactoriesTable;
extern const std::string_view kInplaceTable;
extern const std::string_view kForeachTable;
extern const std::string_view kRandomTable;

/// The functional overloads whose out= form is sampled too, separated by blanks.
extern const std::string_view kOutOps;

}  // namespace antegrad::samples
