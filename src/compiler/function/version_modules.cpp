// Versions whose watched modules may have been replaced.
#include <fmt/format.h>

#include "antegrad/error.h"
#include "compiler/function/version.h"

namespace antegrad::compiler {

bool Version::may_be_confirmed(const Call& call) const {
  if (is_eager() || guards_.modules == nullptr) return false;
  const auto symbols = guards_.hold_ignoring_owners(call);
  return symbols && find_instance(*symbols) != nullptr;
}

bool Version::confirm(const Options& options, const Call& call, const Captured& captured) {
  if (!may_be_confirmed(call)) return false;
  const auto symbols = guards_.shapes_hold(call.leaves);
  if (!symbols || !guards_.lifts_same(captured.trace)) return false;
  const std::vector<int64_t> sizes(symbols->begin(), symbols->begin() + guards_.size_symbols());
  const auto values = template_->symbols_in(sizes, captured);
  if (!values || *values != find_instance(*symbols)->values) return false;
  watch_again(options);
  return true;
}

void Version::watch_again(const Options& options) {
  if (guards_.modules != nullptr) guards_.modules = std::make_unique<ModuleState>(options.watch);
}

void Version::check_not_replaced(const Options& options, const Call& call,
                                 const capture::Trace& trace) const {
  if (!guards_.arguments_hold(call)) return;
  const auto& modules = guards_.modules;
  for (size_t k = 0; modules != nullptr && k < options.watch.size(); ++k) {
    const auto& module = options.watch[k];
    if (!module || !modules->lost_owner(*module)) continue;
    const ModuleState own({module});
    const auto was_used = [&](const VersionGuards::Lifted& lifted) {
      const at::Tensor tensor(lifted.tensor.lock());
      return tensor.defined() && !own.name_of(tensor).empty();
    };
    const auto is_used = [&](const auto& lifted) { return !own.name_of(lifted.tensor).empty(); };
    if (std::any_of(guards_.lifted.begin(), guards_.lifted.end(), was_used) &&
        std::none_of(trace.lifted.begin(), trace.lifted.end(), is_used))
      throw Error(ErrorCode::GraphChanged, "compile",
                  fmt::format("watched module {} of '{}' was replaced: the function uses none of its tensors "
                              "any more",
                              k, options.name),
                  "Compile the function again with the new module in Options::watch, or copy parameters into "
                  "the old one instead of replacing it");
  }
}

}  // namespace antegrad::compiler
