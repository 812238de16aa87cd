#pragma once
#include <functional>
#include <optional>
#include <string>

#include "fuzz/program.h"
#include "support/closeness.h"

/// Compares a compiled program with eager LibTorch.
namespace antegrad::fuzz {

using Fn = std::function<Tensors(Tensors)>;
using Compile = std::function<Fn(Fn)>;
/// As Compile, for compilers and tests that also need the tensors that the function captures.
using CompileWithCaptured = std::function<Fn(Fn, const Tensors& captured)>;

/// What is compared besides values, dtypes, shapes and aliasing.
struct CheckOptions {
  bool unit_strides = true;            ///< also strides of dims of one element, and of empty tensors
  bool views = true;                   ///< is_view() of outputs, and which known tensor is their base
  bool fresh_output_versions = false;  ///< also _version() of outputs made inside, not only its later changes
  bool autograd = false;  ///< also is_leaf() and whether there is a grad_fn; values need only be close
  test::Comparisons* comparisons = nullptr;  ///< decides what is close; checks make their own
};

/// Returns what() without LibTorch's stack trace.
std::string message_of(const std::exception& error);

/// Returns the first difference between eager and compiled, or nothing.
///
/// Builds two equal worlds, one for eager calls and one for compiled ones, and makes two calls with the same
/// inputs and two with new inputs. After each call it compares all outputs, inputs and captured tensors,
/// those of earlier calls included: definedness, dtype, sizes, strides, storage offset, requires_grad, values
/// (equal, or both NaN), whole storages of inputs and captured tensors, _version(), which are the same
/// tensor, which share a storage, and which are views of which. Then it writes to each output in place in
/// both worlds and compares again. The check ends at a later call that eager itself refuses because the first
/// one changed the metadata of its inputs.
std::optional<std::string> check(const Program& program, const Compile& compile,
                                 const CheckOptions& options = {});
std::optional<std::string> check_with_captured(const Program& program, const CompileWithCaptured& compile,
                                               const CheckOptions& options = {});

}  // namespace antegrad::fuzz
