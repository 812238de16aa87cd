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

/// A captured program over the sizes that it works for, and where its code may be found.
struct GeneralProgram {
  Generalized found;
  FunctionCache cache;
  std::vector<std::string> fixed_sizes;  ///< sizes that could not be made symbols, and why
  /// The function has kept tensors (capture/kept.h) while it was run at other sizes: what was captured before
  /// may have read others in their place.
  bool kept_tensors = false;
};

/// Decides which sizes of one function are symbols. That follows from earlier calls and from the options;
/// whether the function works for symbols is known from the cache, or found by capturing it at other sizes.
class SizeChoice {
 public:
  /// `marks`: of marks_of().
  SizeChoice(const CaptureSettings& settings, std::vector<symbolic::Mark> marks);

  /// Runs the function for captures at other sizes. `captured`: at the sizes of the call.
  GeneralProgram generalize(const Call& call, const Captured& captured, const Versions& versions);

 private:
  struct Wanted {
    symbolic::Shapes shapes;
    std::vector<symbolic::CallShapes> calls;  ///< the shapes of calls so far, the newest last
  };
  Wanted choose(const Call& call, const Versions& versions) const;
  GeneralProgram search(const Call& call, const Captured& captured, const Wanted& wanted);
  GeneralProgram with_cache(const Call& call, const Captured& captured, Generalized found) const;

  const CaptureSettings settings_;
  const std::vector<symbolic::Mark> marks_;
  /// Sizes that could not be made symbols, by the key of the call: not tried again.
  std::set<std::pair<std::vector<int64_t>, std::string>> pinned_;
  /// Keys of calls for which it kept tensors at other sizes. A cache that grows is large enough after that.
  std::set<std::vector<int64_t>> grown_;
};

}  // namespace antegrad::compiler
