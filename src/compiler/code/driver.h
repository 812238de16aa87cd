#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/code/captured.h"
#include "compiler/code/sizes.h"
#include "compiler/code/template.h"
#include "compiler/function/call.h"
#include "compiler/function/version.h"

namespace antegrad::compiler {

/// A call that no version serves, and the result of running the user's function over fakes for it: everything
/// needed to compile it.
struct Recorded {
  std::string reason;                ///< why no version serves the call
  std::optional<Captured> captured;  ///< keeps lifted tensors alive until Match::inputs does
  std::optional<GeneralProgram> program;
  std::optional<VersionGuards> guards;  ///< of the call, made on its thread
  std::string eager_reason;             ///< why the call runs eagerly; empty when it is to be compiled
  /// The function kept tensors while it was captured at other sizes; they may have replaced some that this
  /// call needs.
  bool kept_elsewhere = false;
  size_t kept = 0;              ///< how many tensors the function kept, also when it threw
  std::vector<at::Tensor> met;  ///< captured tensors that the function had used when it threw
  bool keeps() const { return captured && captured->trace.kept > 0; }
};

/// Drives a cold call of a function, from capture to stored code. The first half runs the user's function and
/// therefore belongs to the calling thread; the second half works on plain data and may run on another
/// thread.
class Driver {
 public:
  /// Throws Error(InvalidArgument) for invalid marks of dynamic sizes.
  explicit Driver(const CaptureSettings& settings);

  /// Captures and functionalizes, unless `recorded` holds a capture already.
  const Captured& capture(const Call& call, Recorded& recorded) const;
  /// Captures the forward pass alone.
  capture::Trace capture_forward(const Call& call, std::shared_ptr<capture::Follower> follower,
                                 Recorded& recorded, RunEnd& end) const;
  /// Determines the sizes for which the captured program is valid.
  void generalize(const Call& call, const Versions& versions, Recorded& recorded);
  /// The first half: capture() and generalize(). Returns early when the function keeps tensors.
  void record(const Call& call, const Versions& versions, Recorded& recorded);
  /// The second half: makes a version, with an instance for the call, from what record() left in `recorded`.
  std::shared_ptr<Version> compile(const Call& call, Recorded& recorded) const;

 private:
  void generalize_numbers(const Call& call, const Versions& versions, Recorded& recorded) const;

  const CaptureSettings settings_;
  SizeChoice sizes_;
};

/// Compiles one case of the backward pass; called when a backward pass first needs it.
std::shared_ptr<const Lowered> compile_backward(const TemplateParts& parts,
                                                const runtime::BackwardCase& which);

/// Schedules a graph and compiles its kernels. When that fails, returns code in which LibTorch runs every op
/// if Options::compile_failure allows it; throws Error(Compile) otherwise.
std::shared_ptr<const Lowered> lower(const Lowering& lowering, const ir::Graph& graph,
                                     std::optional<bool> deterministic = {});

}  // namespace antegrad::compiler
