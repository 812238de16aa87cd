#pragma once
#include <functional>
#include <optional>
#include <string>

#include "closeness.h"
#include "fuzz/program.h"

/// Compares a compiled program with eager LibTorch.
namespace antegrad::fuzz {

using Fn = std::function<Tensors(Tensors)>;
using Compile = std::function<Fn(Fn)>;
/// As Compile, for compilers (and tests) that also see what the function captures.
using CompileWithCaptured = std::function<Fn(Fn, const Tensors& captured)>;

/// What is compared beyond values, dtypes, shapes and aliasing.
struct CheckOptions {
  bool unit_strides = true;  ///< also strides of dims that hold one element, and those of empty tensors
  bool views = true;         ///< is_view() of outputs, and which known tensor is their base
  bool fresh_output_versions =
      false;              ///< also _version() of outputs made inside, not only its changes afterwards
  bool autograd = false;  ///< is_leaf() and whether there is a grad_fn; values need only be close
  test::Comparisons* comparisons = nullptr;  ///< that say what is close; checks make their own
};

/// what(), without the stack trace that LibTorch puts there.
std::string message_of(const std::exception& error);

/// The first difference between eager and compiled, or nothing.
///
/// Two equal worlds are built; one sees eager calls, the other compiled ones: two calls with the same inputs
/// and one with fresh inputs. After each call all outputs, inputs and captured tensors, and those of the
/// calls before, are compared: definedness, dtype, sizes, strides, storage offset, requires_grad, values
/// (equal, or both NaN), whole storages of inputs and captured tensors, _version(), which are the same
/// tensor, which share a storage, and which are views of which. Then each output is mutated in place in both
/// worlds, and all is compared again. A later call that eager itself refuses, because the first one changed
/// the metadata of its inputs, ends the check.
std::optional<std::string> check(const Program& program, const Compile& compile,
                                 const CheckOptions& options = {});
std::optional<std::string> check_with_captured(const Program& program, const CompileWithCaptured& compile,
                                               const CheckOptions& options = {});

}  // namespace antegrad::fuzz
