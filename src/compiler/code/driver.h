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

/// A call that no version serves, and what running the user's function over fakes has given for it: all that
/// compiling it takes.
struct Recorded {
  std::string reason;                ///< why no version serves it
  std::optional<Captured> captured;  ///< holds lifted tensors until Match::inputs does
  std::optional<GeneralProgram> program;
  std::string eager_reason;  ///< "": there is to be code
  /// At other sizes it kept tensors, which may have replaced some that this call needs.
  bool kept_elsewhere = false;
  size_t kept = 0;              ///< tensors that it has kept, also when it threw
  std::vector<at::Tensor> met;  ///< captured tensors that it had used when it threw
  bool keeps() const { return captured && captured->trace.kept > 0; }
};

/// Drives a cold call of one function, from capture to stored code. The first half runs the user's function
/// and so belongs to the thread of the call; the second half needs data only, and may run on another one.
class Driver {
 public:
  /// Throws Error(InvalidArgument) for marks of sizes that make no sense.
  explicit Driver(const CaptureSettings& settings);

  /// Captures and functionalizes, unless `recorded` has been captured.
  const Captured& capture(const Call& call, Recorded& recorded) const;
  /// Finds the sizes that the captured program works for.
  void generalize(const Call& call, const Versions& versions, Recorded& recorded);
  /// The first half: both of these. It ends early where the function keeps tensors.
  void record(const Call& call, const Versions& versions, Recorded& recorded);
  /// The second half: a version with an instance for the call, of what record() has left.
  std::shared_ptr<Version> compile(const Call& call, Recorded& recorded) const;

 private:
  const CaptureSettings settings_;
  SizeChoice sizes_;
};

/// The code of one case of the backward pass, which is made when a backward pass first needs it.
std::shared_ptr<const Lowered> compile_backward(const TemplateParts& parts,
                                                const runtime::BackwardCase& which);

/// A graph as code: scheduled, and its kernels compiled. Where that fails and Options::compile_failure says
/// so, LibTorch runs every op instead; else throws Error(Compile).
std::shared_ptr<const Lowered> lower(const Lowering& lowering, const ir::Graph& graph);

}  // namespace antegrad::compiler
