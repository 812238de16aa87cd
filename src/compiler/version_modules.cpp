// Versions whose watched modules may have been replaced.
#include <fmt/format.h>

#include "antegrad/error.h"
#include "compiler/version.h"

namespace antegrad::compiler {

bool Version::confirm(const Options& options, const Leaves& leaves, const runtime::Ambient& ambient,
                      const Captured& captured) {
  Symbols symbols;
  if (is_eager() || modules_ == nullptr || modules_->difference().empty()) return false;
  if (!modules_->difference_of_contents().empty() || !inputs_hold(leaves, ambient, symbols)) return false;
  if (!lifts_same(captured.trace) ||
      !template_->difference({symbols.begin(), symbols.end()}, captured).empty())
    return false;
  modules_ = std::make_unique<ModuleState>(options.watch);
  return true;
}

void Version::check_not_replaced(const Options& options, const Leaves& leaves,
                                 const runtime::Ambient& ambient, const capture::Trace& trace) const {
  Symbols symbols;
  if (!inputs_hold(leaves, ambient, symbols)) return;
  for (size_t k = 0; modules_ != nullptr && k < options.watch.size(); ++k) {
    const auto& module = options.watch[k];
    if (!module || !modules_->lost_owner(module.get())) continue;
    const ModuleState own({module});
    const auto was_used = [&](const Lifted& lifted) {
      const at::Tensor tensor(lifted.tensor.lock());
      return tensor.defined() && !own.name_of(tensor).empty();
    };
    const auto is_used = [&](const auto& lifted) { return !own.name_of(lifted.tensor).empty(); };
    if (std::any_of(lifted_.begin(), lifted_.end(), was_used) &&
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
