#pragma once
#include <memory>
#include <vector>

#include "antegrad/function.h"
#include "aot/functionalize.h"
#include "capture/capture.h"
#include "compiler/code/lowering.h"
#include "compiler/code/watch.h"

namespace antegrad::compiler {

/// How a function is to be captured.
struct CaptureSettings {
  const Options& options;
  bool effects = true;  ///< false: what it does to its inputs is left out
  std::shared_ptr<const Lowering> lowering;
  bool may_keep = false;   ///< as in capture::CaptureOptions
  size_t* kept = nullptr;  ///< likewise
  std::vector<at::Tensor>* met = nullptr;
};

/// Inputs that are views of one tensor for autograd, one of them written. The tensor is an input of its own,
/// after the user's, unless the user passes it too.
struct SharedBase {
  std::vector<int32_t> views;
  int32_t base = 0;
};

/// What a run of the function leaves besides its graph.
struct RunEnd {
  std::shared_ptr<const void> pattern;  ///< as in Outcome
  bool grad_mode = false;               ///< of the thread; it is put back
};

/// What one capture of a function gave.
struct Captured {
  capture::Trace trace;
  aot::FunctionalGraph functional;  ///< before any pass
  RunEnd end;
  std::vector<at::Tensor> inputs;  ///< the user's, then bases that the user does not pass
  std::vector<SharedBase> bases;
};

/// Captures and functionalizes. Throws what capture throws.
Captured capture_call(const CaptureSettings& settings, std::vector<at::Tensor> inputs,
                      const ModuleState* modules, const detail::RunOnTensors& run);

/// Its functional graph as one of tensors that begin where their memory does: where in a larger tensor an
/// input begins is no part of the program, unless the signature says so.
ir::Graph without_input_offsets(const Captured& captured);
/// What was recorded, as text, for comparing calls that one instance serves: wherever inputs begin in their
/// memory.
std::string traced_text(const Captured& captured);

/// Whether some tensor of the trace may be conjugated or negated when it is read. Types do not say which, so
/// a copy that resolves it looks like a no-op.
bool has_lazy_bits(const capture::Trace& trace);

/// What is known of a captured function besides its graph.
struct CaptureFacts {
  bool differentiable = false;
  bool lazy_bits = false;                     ///< as has_lazy_bits()
  std::vector<std::vector<bool>> reached_by;  ///< as in BackwardFacts
};
CaptureFacts facts_of(const capture::Trace& trace);

/// The passes that a captured graph goes through. `effects`: as in CaptureSettings; `rng`: as in Options,
/// which exports override.
void run_passes(const Options& options, bool effects, bool lazy_bits, Rng rng, ir::Graph& graph);

}  // namespace antegrad::compiler
