#pragma once
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compiler/cache/function_cache.h"
#include "compiler/code/differential.h"
#include "compiler/function/call.h"
#include "compiler/function/version.h"

namespace antegrad::compiler {

/// The versions of a function, newest first.
using Versions = std::vector<std::shared_ptr<Version>>;

/// A captured program over the sizes for which it is valid, and its place in the cache.
struct GeneralProgram {
  Generalized found;
  FunctionCache cache;
  NumberSymbols numbers = {};
  std::vector<std::string> fixed_sizes;  ///< sizes that could not be made symbols, and why
  /// The function kept tensors (capture/kept.h) while it was captured at other sizes, so the first capture
  /// may have read tensors that have since been replaced.
  bool kept_tensors = false;
};

/// Decides which sizes of a function become symbols, based on earlier calls and on the options. Whether the
/// function works for these symbols is looked up in the cache or found by capturing it at other sizes.
class SizeChoice {
 public:
  /// `marks` as returned by marks_of().
  SizeChoice(const CaptureSettings& settings, std::vector<symbolic::Mark> marks);

  /// Runs the function to capture it at other sizes. `captured` is the capture at the sizes of the call.
  GeneralProgram generalize(const Call& call, const Captured& captured, const Versions& versions);

 private:
  struct Wanted {
    symbolic::Shapes shapes;
    std::vector<symbolic::CallShapes> calls;  ///< shapes of the calls so far, newest last
  };
  Wanted choose(const Call& call, const Versions& versions) const;
  GeneralProgram search(const Call& call, const Captured& captured, const Wanted& wanted);
  GeneralProgram with_cache(const Call& call, const Captured& captured, Generalized found) const;

  const CaptureSettings settings_;
  const std::vector<symbolic::Mark> marks_;
  /// Sizes that could not be made symbols, with the key of the call. They are not tried again.
  std::set<std::pair<std::vector<int64_t>, std::string>> pinned_;
  /// Keys of calls for which the function kept tensors at other sizes. A cache of the user's that grows with
  /// the size is then large enough for the next search.
  std::set<std::vector<int64_t>> grown_;
};

}  // namespace antegrad::compiler
