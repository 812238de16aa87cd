#pragma once
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compiler/differential.h"
#include "compiler/function_cache.h"
#include "compiler/version.h"

namespace antegrad::compiler {

/// A call that no version serves.
struct NewCall {
  const Captured& captured;
  const Leaves& leaves;
  const runtime::Ambient& ambient;
  const detail::RunOnTensors& run;
  const std::vector<std::shared_ptr<Version>>& versions;  ///< of the function, newest first
};

/// What a version is made from: all that takes captures to find out.
struct NewVersion {
  Generalized found;
  FunctionCache cache;
};

/// Makes versions of one function. Which sizes are symbols in them follows from earlier calls and from the
/// options; whether the function works for symbols is known from the cache, or found by capturing it at other
/// sizes.
class VersionMaker {
 public:
  /// Throws Error(InvalidArgument) for marks that make no sense.
  explicit VersionMaker(const CaptureSettings& settings);

  /// Runs the function for captures at other sizes. `fixed_sizes` gets what could not be made a symbol, and
  /// why.
  NewVersion plan(const NewCall& call, std::vector<std::string>& fixed_sizes);
  /// Whether the function has kept tensors (capture/kept.h) while plan() last ran it: what was captured
  /// before may have read others in their place.
  bool has_kept() const { return has_kept_; }
  /// Compiles it, without running the function.
  std::shared_ptr<Version> make(const Captured& captured, const Leaves& leaves, NewVersion planned) const;

 private:
  symbolic::Shapes wanted_shapes(const NewCall& call, std::vector<symbolic::Call>& calls) const;
  Generalized generalize(const NewCall& call, const symbolic::Shapes& wanted,
                         const std::vector<symbolic::Call>& calls, std::vector<std::string>& fixed_sizes);
  Generalized as_it_is(const NewCall& call) const;
  FunctionCache cache_of(const NewCall& call, const ir::Graph& graph) const;

  const CaptureSettings settings_;
  const std::vector<symbolic::Mark> marks_;
  /// Sizes that could not be made symbols, by the key of the call: not tried again.
  std::set<std::pair<std::vector<int64_t>, std::string>> pinned_;
  /// Keys of calls for which it kept tensors at other sizes. A cache that grows is large enough after that.
  std::set<std::vector<int64_t>> grown_;
  bool has_kept_ = false;
};

}  // namespace antegrad::compiler
