#pragma once
#include <memory>
#include <vector>

#include "antegrad/function.h"
#include "aot/functionalize.h"
#include "capture/capture.h"
#include "compiler/code/watch.h"
#include "compiler/plan/plan.h"

namespace antegrad::compiler {

/// How to capture a function.
struct CaptureSettings : PlanSettings {
  bool may_keep = false;   ///< as in capture::CaptureOptions
  size_t* kept = nullptr;  ///< as in capture::CaptureOptions
  std::vector<at::Tensor>* met = nullptr;
  /// Whether the function may change settings and generators. Those of a function that does not are left
  /// alone: other threads may change them meanwhile.
  bool may_change_settings = true;
};

/// Inputs that autograd treats as views of one tensor, at least one of which is written. The base is an
/// additional input after the user's, unless the user passes it too.
struct SharedBase {
  std::vector<int32_t> views;
  int32_t base = 0;
};

/// State at the end of a run of the function, besides its graph.
struct RunEnd {
  std::shared_ptr<const void> pattern;                     ///< as in Outcome
  bool grad_mode = false;                                  ///< of the thread, which gets its own mode back
  std::shared_ptr<const detail::CallStructure> structure;  ///< as in Outcome
  std::vector<std::string> regions;                        ///< as in Report
};

/// The result of capturing a function once.
struct Captured {
  capture::Trace trace;
  aot::FunctionalGraph functional;  ///< before any pass
  RunEnd end;
  std::vector<at::Tensor> inputs;  ///< the user's, then bases that the user does not pass
  std::vector<SharedBase> bases;
};

/// Captures and functionalizes. Throws what capture::capture() throws.
Captured capture_call(const CaptureSettings& settings, std::vector<at::Tensor> inputs,
                      const ModuleState* modules, const detail::RunOnTensors& run);

/// Captures the forward pass alone, with what it takes to compare it with a whole capture (forward_check.h).
/// Throws what capture::capture() throws.
/// `follower`: as in capture::CaptureOptions.
capture::Trace capture_forward(const CaptureSettings& settings, const std::vector<at::Tensor>& inputs,
                               const detail::RunOnTensors& run, std::shared_ptr<capture::Follower> follower,
                               RunEnd& end);
/// Returns the forward pass of a trace, with inputs at offset 0 and without their names.
ir::Graph forward_of(capture::Trace trace);

/// Returns the functional graph with inputs at offset 0: the storage offset of an input is not part of the
/// program unless the signature says so.
ir::Graph without_input_offsets(const Captured& captured);
/// Returns the recorded graph as text, without the storage offsets of inputs, for comparing calls that one
/// instance serves.
std::string traced_text(const Captured& captured);

/// Whether some tensor of the trace may have its conjugate or negative bit set. Types do not record these
/// bits, so a copy that resolves them looks like a no-op.
bool has_lazy_bits(const capture::Trace& trace);

CaptureFacts facts_of(const capture::Trace& trace);

}  // namespace antegrad::compiler
