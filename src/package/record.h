#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aot/signature/signature.h"
#include "cache/format/hash.h"
#include "compiler/code/captured.h"
#include "compiler/code/reach.h"
#include "compiler/function/gradient_function.h"
#include "compiler/plan/plan.h"
#include "package/structure.h"
#include "runtime/backward.h"
#include "runtime/guards.h"
#include "schedule/program.h"
#include "symbolic/shapes.h"

// What a package stores of a compiled function, as plain data with a binary form (docs/packages.md).
namespace antegrad::packaging {

/// Facts of the backward pass of an instance.
struct BackwardRecord {
  runtime::BackwardFacts facts;     ///< without `errors` and `higher_order`
  std::vector<std::string> errors;  ///< per tangent: what eager's backward() throws, or ""
  bool differentiable_twice = false;
};

/// A version at fixed sizes: how it is called.
struct InstanceRecord {
  std::vector<int64_t> symbols;  ///< values of the symbols that stand for sizes
  std::vector<int64_t> numbers;  ///< values of the symbols after them
  std::vector<int64_t> offsets;  ///< storage offsets of all inputs at capture
  aot::Signature signature;
  std::optional<BackwardRecord> backward;
  bool grad_mode_after = false;
  bool has_assumptions = false;
  /// Arguments of gradients that are differentiable again; empty when these are not in the package.
  std::vector<compiler::Placeholder> gradient_arguments;
  std::vector<compiler::Reach> reach;  ///< as in compiler::Instance
};

/// Arguments that are views of one tensor, as compiler::VersionGuards::Base.
struct BaseRecord {
  compiler::SharedBase shared;
  runtime::TensorGuard guard;
};

struct LiftedRecord {
  int32_t weight = 0;  ///< number among the weights of the package
  runtime::TensorGuard guard;
};

/// One version of a function. Its code is in records of its own: code_record().
struct VersionRecord {
  Structure structure;
  runtime::Ambient ambient;
  std::vector<runtime::TensorGuard> arguments;
  std::vector<BaseRecord> bases;
  std::vector<LiftedRecord> lifted;
  std::optional<symbolic::Shapes> shapes;  ///< nothing when the sizes are fixed
  bool any_size = false;  ///< serves all sizes that `shapes` allows, not only those of instances
  compiler::CaptureFacts facts;
  compiler::Plan plan;
  std::vector<InstanceRecord> instances;             ///< at least one
  std::vector<std::vector<bool>> backward_cases;     ///< cases of the backward pass that have code
  std::optional<runtime::Ambient> gradient_ambient;  ///< of the call whose gradients are differentiable again
  size_t gradient_versions = 0;  ///< versions of these gradients, in the folder "gradients"
};

/// How many inputs there are between the arguments and the captured tensors: bases that are no arguments.
size_t extra_bases(const VersionRecord& version);
/// Returns the guard of an input: an argument, such a base, or a captured tensor.
const runtime::TensorGuard& input_guard(const VersionRecord& version, size_t input);

std::string write_version(const VersionRecord& version);
/// Throws Error(Io) for invalid bytes. Indices are in range, signatures fit the graphs, and graphs are
/// verified; `weights` is the number of weights of the package.
VersionRecord read_version(std::string_view bytes, size_t weights);

/// The code of a pass.
struct CodeRecord {
  bool eager = false;                  ///< LibTorch runs every op; the program has only its graph
  std::vector<cache::Digest> kernels;  ///< per kernel of the program: SHA-256 of its C text
  schedule::Program program;
};
std::string write_code(bool eager, const std::vector<cache::Digest>& kernels,
                       const schedule::Program& program);
CodeRecord read_code(std::string_view bytes);  ///< throws Error(Io) for invalid bytes

}  // namespace antegrad::packaging
