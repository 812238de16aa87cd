// The versions of a function, and reports on them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>
#include <utility>

#include "antegrad/error.h"
#include "compiler/function/function_impl.h"
#include "util/reasons.h"

namespace antegrad::detail {
namespace {

constexpr size_t kMostDifferences = 3;  ///< in one reason

/// Whether the error means that the function cannot be compiled, rather than that the call is wrong.
bool is_unsupported(ErrorCode code) {
  switch (code) {
    case ErrorCode::DataRead:
    case ErrorCode::DataDependentShape:
    case ErrorCode::UnsupportedTensor:
    case ErrorCode::UnsupportedOp:
    case ErrorCode::UnsupportedArgument:
    case ErrorCode::NeedsGrad:
      return true;
    default:
      return false;
  }
}

/// Describes the first line in which two graph texts differ.
std::string first_difference(const std::string& before, const std::string& after) {
  std::istringstream a(before);
  std::istringstream b(after);
  std::string old_line;
  std::string new_line;
  for (int number = 1;; ++number) {
    const bool more_a = static_cast<bool>(std::getline(a, old_line));
    const bool more_b = static_cast<bool>(std::getline(b, new_line));
    if (!more_a) old_line = "<end>";
    if (!more_b) new_line = "<end>";
    if (old_line != new_line || (!more_a && !more_b))
      return fmt::format("line {}:\n- {}\n+ {}", number, old_line, new_line);
  }
}

}  // namespace

void Function::Impl::add(std::shared_ptr<Version> version, const std::string& reason,
                         const std::string& eager_reason) {
  std::unique_lock lock(versions_mutex);
  ++report.captures;
  if (!reason.empty()) keep_newest(report.recapture_reasons, reason);
  if (!eager_reason.empty()) append_unique(report.eager_reasons, eager_reason);
  if (!version->is_eager()) report.nodes = version->compiled().plan().graph.nodes.size();
  report.frozen += version->guards().frozen();
  if (!version->is_eager())
    for (const auto& tensor : version->compiled().parts().constants) report.frozen_bytes += tensor.nbytes();
  for (const auto& [op, count] : version->shape_fallbacks()) report.shape_fallbacks[op] += count;
  for (const auto& region : version->regions) append_unique(report.regions, region);
  version->made_for = calls.load(std::memory_order_relaxed);
  version->last_call = version->made_for;
  // Compiled code comes first: versions that run in parts may serve calls of all sizes.
  const bool last = version->is_eager() && stretches;
  versions.insert(last ? versions.end() : versions.begin(), std::move(version));
}

/// Adds an instance for this call to a version.
std::optional<Match> Function::Impl::add_instance(const std::shared_ptr<Version>& version,
                                                  compiler::InstancePtr instance, const Call& call,
                                                  bool by_forward) {
  std::unique_lock lock(versions_mutex);
  version->add(std::move(instance), options.max_sizes);
  version->watch_again(options);
  ++report.sizes;
  if (by_forward) ++report.forward_checks;
  lock.unlock();
  return compiler::match_new_version(version, call);
}

/// Adds an instance if the forward pass alone shows that the version serves these sizes.
std::optional<Match> Function::Impl::reuse_by_forward(const std::shared_ptr<Version>& version,
                                                      const Call& call, Recorded& recorded) {
  if (recorded.captured || !version->is_checked_by_forward(call)) return std::nullopt;
  compiler::RunEnd end;
  auto forward = driver->capture_forward(call, version->follower_for(call), recorded, end);
  auto instance = version->make_instance(options, call, std::move(forward), std::move(end));
  if (instance == nullptr) return std::nullopt;
  return add_instance(version, std::move(instance), call, /*by_forward=*/true);
}

/// Adds an instance to a version with symbols that allows these sizes. When one should serve them but does
/// not, `recorded` gets the reason.
std::optional<Match> Function::Impl::reuse(const Call& call, Recorded& recorded) {
  for (const auto& version : versions) {  // capture_mutex is held, so nobody else changes them
    if (!version->is_dynamic() || !version->allows(call) || version->dead()) continue;
    if (auto match = reuse_by_forward(version, call, recorded)) return match;
    const auto& captured = driver->capture(call, recorded);
    if (recorded.keeps()) return std::nullopt;
    auto instance = version->make_instance(settings(), call, captured);
    if (instance) return add_instance(version, *std::move(instance), call);
    recorded.reason =
        fmt::format("the function does something else at these sizes and numbers: {}", instance.reason());
  }
  return std::nullopt;
}

/// Finds a version that serves the call after all, although a watched module seemed to have been replaced.
std::optional<Match> Function::Impl::confirm(const Call& call, Recorded& recorded) {
  for (const auto& version : versions) {  // capture_mutex is held, so nobody else changes them
    if (!version->may_be_confirmed(call) || version->dead()) continue;
    const auto& captured = driver->capture(call, recorded);
    if (recorded.keeps()) return std::nullopt;
    version->check_not_replaced(options, call, captured.trace);
    std::unique_lock lock(versions_mutex);
    const bool confirmed = version->confirm(options, call, captured);
    lock.unlock();
    if (!confirmed) continue;
    if (auto match = compiler::match_new_version(version, call)) return match;
  }
  return std::nullopt;
}

/// Returns why the call is captured although there are versions; "" for the first capture.
std::string Function::Impl::recapture_reason(const Call& call) {
  std::shared_lock lock(versions_mutex);
  if (!kept_reason.empty()) return std::exchange(kept_reason, "");
  std::vector<std::string> fewest;  // of the nearest version
  for (const auto& version : versions)
    if (auto reasons = version->mismatches(call); fewest.empty() || reasons.size() < fewest.size())
      fewest = std::move(reasons);
  if (fewest.size() > kMostDifferences) {
    fewest[kMostDifferences] = fmt::format("{} more differences", fewest.size() - kMostDifferences);
    fewest.resize(kMostDifferences + 1);
  }
  return fmt::format("{}", fmt::join(fewest, "; "));
}

bool Function::Impl::make_room(std::string& reason) {
  std::unique_lock lock(versions_mutex);
  std::erase_if(versions, [](const auto& version) { return version->dead(); });
  const auto most = std::max(1, options.max_versions);
  if (std::cmp_less(versions.size(), most)) return true;
  // Where calls may run uncompiled, compiling in every call would be worse.
  if (!options.drop_versions || (may_run_uncompiled() && wasted_versions >= most)) return false;
  const auto last_call = [](const auto& version) {
    return version->last_call.load(std::memory_order_relaxed);
  };
  const auto oldest = std::ranges::min_element(versions, {}, last_call);
  wasted_versions = last_call(*oldest) == (*oldest)->made_for ? wasted_versions + 1 : 0;
  versions.erase(oldest);
  ++report.dropped_versions;
  reason += fmt::format(" (the least recently used of {} versions is dropped)", most);
  trace::warn("dropped_version", fmt::format("'{}': {}", options.name, reason),
              "Pass what changes as a tensor, or raise Options::max_versions");
  return true;
}

bool Function::Impl::passes_by(const Call& call, uint64_t number) {
  if (!new_sizes || !new_sizes->is_stream(number, call.leaves)) return false;
  std::shared_lock lock(versions_mutex);
  const bool small = std::ranges::any_of(versions, [&](const auto& version) {
    return !version->is_eager() && version->is_dynamic() && version->allows(call) && version->may_pass_by();
  });
  lock.unlock();
  if (small) std::call_once(new_sizes_told, [&] { tell_new_sizes(); });
  return small;
}

void Function::Impl::tell_new_sizes() {
  const auto reason = fmt::format(
      "'{}' runs uncompiled at sizes that it has not met before: most of its calls have such sizes, and its "
      "ops are so small that a new size costs more than compiled code saves",
      options.name);
  trace::warn("eager", reason, "Set Options::compile_all_sizes if these sizes will come again");
  std::unique_lock lock(versions_mutex);
  append_unique(report.eager_reasons, reason);
}

/// Calls from static destructors still get their results.
void Function::Impl::run_eagerly_at_exit() {
  const auto reason = fmt::format("'{}' runs eagerly: the process is ending", options.name);
  trace::warn("eager", reason, "Call it once with such arguments before main() returns");
  std::unique_lock lock(versions_mutex);
  append_unique(report.eager_reasons, reason);
}

/// Returns why the call runs eagerly; rethrows the error when it must not.
std::string Function::Impl::eager_reason_of(const Error& error) const {
  if (!may_run_uncompiled() || !is_unsupported(error.code())) {
    trace::warn("error", error.what());
    throw;
  }
  return error.what();
}

void Function::Impl::keep_fixed_sizes(const std::vector<std::string>& reasons) {
  std::unique_lock lock(versions_mutex);
  for (const auto& reason : reasons)
    if (append_unique(report.fixed_sizes, reason))
      trace::warn("fixed_size", reason, "Each value gets a version of its own");
}

/// Throws Error(TooManyVersions), or records that calls run eagerly from now on.
void Function::Impl::give_up(const std::string& reason) {
  auto text = fmt::format("'{}' was captured {} times, the last time because {}", options.name,
                          options.max_versions, reason);
  if (!report.fixed_sizes.empty()) text += fmt::format("; {}", report.fixed_sizes.back());
  if (!may_run_uncompiled())
    throw Error(ErrorCode::TooManyVersions, "compile", text,
                "Pass what changes from call to call as a tensor, or raise Options::max_versions");
  trace::warn("eager", text, "Pass what changes as a tensor, or raise Options::max_versions");
  std::unique_lock lock(versions_mutex);
  append_unique(report.eager_reasons, text);
}

void Function::Impl::check_recapture(const compiler::Instance& instance, const Call& call) {
  const compiler::ModuleState modules(options.watch);
  const auto text = compiler::traced_text(
      compiler::capture_call({options, true, nullptr},
                             {call.leaves.tensors.begin(), call.leaves.tensors.end()}, &modules, call.run));
  if (text == instance.traced_text) return;
  throw Error(ErrorCode::GraphChanged, "compile",
              fmt::format("'{}' does something else than when it was captured; {}", options.name,
                          first_difference(instance.traced_text, text)),
              "Pass what changed (a number, a flag) as an argument, or name the module in Options::watch");
}

}  // namespace antegrad::detail
