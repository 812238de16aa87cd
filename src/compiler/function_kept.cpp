// Functions that keep some of their tensors: caches that are filled on first use, and states.
#include <fmt/format.h>

#include "antegrad/error.h"
#include "compiler/function_impl.h"
#include "compiler/kept.h"

namespace antegrad::detail {
namespace {

/// Every op by LibTorch, for one call.
Options once(Options options) {
  options.backend = Backend::Eager;
  options.cache = Cache::Off;
  options.rng = Rng::Eager;  // as what was kept has been computed with
  options.dynamic = Dynamic::None;
  options.dynamic_sizes.clear();
  options.backward_ahead = false;
  options.check_recapture = false;
  options.debug_compare = false;
  return options;
}

}  // namespace

void Function::Impl::Found::share_kept(std::vector<at::Tensor>& outputs) {
  capture::share(kept_outputs, outputs);
  kept_outputs.clear();
}

void Function::Impl::make_once(NewCall& call, const Leaves& leaves, const runtime::Ambient& ambient,
                               const RunOnTensors& run, const KeepRun& keep, Found& found) {
  try {
    const auto own = once(options);
    const CaptureSettings own_settings{own, effects, std::make_shared<const compiler::Lowering>(own)};
    compiler::VersionMaker own_maker(own_settings);
    std::vector<std::string> none;
    auto planned = own_maker.plan({*call.captured, leaves, ambient, run, versions}, none);
    const auto version = own_maker.make(*call.captured, leaves, std::move(planned));
    std::string why;
    auto instance = version->make_instance(own_settings, leaves, *call.captured, keep, why);
    if (instance != nullptr) version->add(std::move(instance), 1);
    for (int tries = 0; tries < 100 && version->lost_owner(); ++tries)  // to other threads, right now
      version->confirm(own, leaves, ambient, *call.captured);
    if (!version->matches(leaves, ambient, found.inputs, found.instance))
      throw Error(ErrorCode::Internal, "compile",
                  "a captured graph does not serve the call it was captured for: " + why);
    found.version = version;
    found.once = true;
    found.kept_outputs = call.captured->trace.kept_outputs;
  } catch (const Error& error) {
    call.eager_reason = eager_reason_of(error);
    return;
  }
  Inputs inputs;
  InstancePtr none;
  if (call.kept_elsewhere) return;  // that was not the function's own doing
  const bool again = ++kept_calls > std::max(1, options.max_versions) ||
                     (kept_before != nullptr && kept_before->matches(leaves, ambient, inputs, none));
  kept_reason =
      fmt::format("the function kept {} of its tensors in a call before", call.captured->trace.kept);
  std::exception_ptr refusal;
  std::string text;
  try {
    compiler::throw_keeps(options.name);
  } catch (const Error& error) {
    refusal = std::current_exception();
    text = error.what();
  }
  const bool eager = options.unsupported == Unsupported::Eager;
  auto stand_in = std::make_shared<Version>(options, leaves, eager ? nullptr : refusal);
  if (again)
    add(std::move(stand_in), std::exchange(kept_reason, ""), eager ? text : "");
  else
    kept_before = std::move(stand_in);
}

}  // namespace antegrad::detail
