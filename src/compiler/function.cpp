#include "antegrad/function.h"

#include <fmt/format.h>

#include <atomic>
#include <mutex>
#include <shared_mutex>
#include <sstream>

#include "antegrad/error.h"
#include "capture/mode.h"
#include "compiler/environment.h"
#include "compiler/explain.h"
#include "compiler/version.h"
#include "ir/text.h"
#include "passes/pipeline.h"

namespace antegrad::detail {
namespace {

using compiler::Inputs;
using compiler::Version;

/// Errors that say "this function cannot be compiled", as against "this call is wrong".
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

constexpr size_t kMaxReasons = 100;

/// A report of a long run stays small: the newest reasons are kept.
void keep(std::vector<std::string>& reasons, const std::string& reason) {
  if (reasons.size() == kMaxReasons) reasons.erase(reasons.begin());
  reasons.push_back(reason);
}
void keep_once(std::vector<std::string>& reasons, const std::string& reason) {
  if (std::find(reasons.begin(), reasons.end(), reason) == reasons.end()) keep(reasons, reason);
}

/// The first lines in which two graph texts differ.
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

struct Function::Impl {
  Options options;
  bool effects = true;
  std::shared_ptr<const compiler::Lowering> lowering;
  std::atomic<uint64_t> calls{0};

  mutable std::shared_mutex versions_mutex;              ///< guards versions and report
  std::vector<std::shared_ptr<const Version>> versions;  ///< newest first
  Report report;

  std::mutex capture_mutex;  ///< one capture at a time; taken before versions_mutex

  std::shared_ptr<const Version> find(const Leaves& leaves, const runtime::Ambient& ambient,
                                      Inputs& inputs) const {
    std::shared_lock lock(versions_mutex);
    for (const auto& version : versions)
      if (version->matches(leaves, ambient, inputs)) return version;
    return nullptr;
  }

  std::shared_ptr<const Version> find_or_capture(const Leaves& leaves, const runtime::Ambient& ambient,
                                                 Inputs& inputs, const RunOnTensors& run,
                                                 const KeepRun& keep);
  std::shared_ptr<const Version> capture(const Leaves& leaves, const RunOnTensors& run, const KeepRun& keep,
                                         std::vector<at::Tensor>& alive, std::string& eager_reason);
  void add(std::shared_ptr<const Version> version, const std::string& reason,
           const std::string& eager_reason);
  std::shared_ptr<const Version> newest() const;  ///< null: none was captured
  bool room_for_another(std::string& reason, const Leaves& leaves, const runtime::Ambient& ambient);
  void check_recapture(const Version& version, const Leaves& leaves, const RunOnTensors& run);
};

std::shared_ptr<const Version> Function::Impl::capture(const Leaves& leaves, const RunOnTensors& run,
                                                       const KeepRun& keep, std::vector<at::Tensor>& alive,
                                                       std::string& eager_reason) {
  try {
    return Version::capture({options, effects, lowering}, leaves, run, keep, alive);
  } catch (const Error& error) {
    if (options.unsupported != Unsupported::Eager || !is_unsupported(error.code())) throw;
    eager_reason = error.what();
    return Version::eager(options, leaves);
  }
}

/// Drops versions that can never match again. Says why none of the rest matches; false when there are too
/// many.
bool Function::Impl::room_for_another(std::string& reason, const Leaves& leaves,
                                      const runtime::Ambient& ambient) {
  std::unique_lock lock(versions_mutex);
  if (!versions.empty()) reason = versions.front()->mismatch(leaves, ambient);
  std::erase_if(versions, [](const auto& version) { return version->dead(); });
  return versions.size() < static_cast<size_t>(std::max(1, options.max_versions));
}

void Function::Impl::add(std::shared_ptr<const Version> version, const std::string& reason,
                         const std::string& eager_reason) {
  std::unique_lock lock(versions_mutex);
  ++report.captures;
  if (!reason.empty()) keep(report.recapture_reasons, reason);
  if (!eager_reason.empty()) keep_once(report.eager_reasons, eager_reason);
  report.nodes = version->graph().nodes.size();
  for (const auto& [op, count] : version->shape_fallbacks()) report.shape_fallbacks[op] += count;
  versions.insert(versions.begin(), std::move(version));
}

std::shared_ptr<const Version> Function::Impl::find_or_capture(const Leaves& leaves,
                                                               const runtime::Ambient& ambient,
                                                               Inputs& inputs, const RunOnTensors& run,
                                                               const KeepRun& keep) {
  std::scoped_lock capturing(capture_mutex);
  if (auto version = find(leaves, ambient, inputs)) return version;  // another thread was first
  std::string reason;
  if (!room_for_another(reason, leaves, ambient)) {
    const auto text = fmt::format("'{}' was captured {} times, the last time because {}", options.name,
                                  options.max_versions, reason);
    if (options.unsupported != Unsupported::Eager)
      throw Error(ErrorCode::TooManyVersions, "compile", text,
                  "Pass what changes from call to call as a tensor, or raise Options::max_versions");
    std::unique_lock lock(versions_mutex);
    keep_once(report.eager_reasons, text);
    return nullptr;
  }
  std::string eager_reason;
  std::vector<at::Tensor> alive;  // until `inputs` holds them
  auto version = capture(leaves, run, keep, alive, eager_reason);
  if (!version->matches(leaves, ambient, inputs))
    throw Error(ErrorCode::Internal, "compile",
                "a captured graph does not serve the call it was captured for: " +
                    version->mismatch(leaves, ambient));
  add(version, reason, eager_reason);
  return version;
}

void Function::Impl::check_recapture(const Version& version, const Leaves& leaves, const RunOnTensors& run) {
  const auto text = compiler::traced_text_now(options, leaves, run);
  if (text == version.traced_text()) return;
  throw Error(ErrorCode::GraphChanged, "compile",
              fmt::format("'{}' does something else than when it was captured; {}", options.name,
                          first_difference(version.traced_text(), text)),
              "Pass what changed (a number, a flag) as an argument, or name the module in Options::watch");
}

Function::Function(Options options, bool effects) : impl_(std::make_unique<Impl>()) {
  impl_->effects = effects;
  impl_->options = compiler::with_environment(std::move(options));
  for (const auto& name : impl_->options.disabled_passes) passes::find_pass(name);
  impl_->lowering = std::make_shared<const compiler::Lowering>(impl_->options);
}

Function::~Function() = default;

Outcome Function::call(const Leaves& leaves, const RunOnTensors& run, const KeepRun& keep) {
  impl_->calls.fetch_add(1, std::memory_order_relaxed);
  const auto ambient = runtime::Ambient::now();
  Inputs inputs;
  auto version = impl_->find(leaves, ambient, inputs);
  const bool known = version != nullptr;
  if (!known) version = impl_->find_or_capture(leaves, ambient, inputs, run, keep);
  if (version == nullptr || version->is_eager()) {
    std::unique_lock lock(impl_->versions_mutex);
    ++impl_->report.eager_calls;
    return {{}, nullptr, true};
  }
  if (known && impl_->options.check_recapture) impl_->check_recapture(*version, leaves, run);
  return {version->caller().call(inputs), version->pattern(), false};
}

Explanation Function::explain(const Leaves& leaves, const RunOnTensors& run, const KeepRun& keep) {
  const auto ambient = runtime::Ambient::now();
  Inputs inputs;
  auto version = impl_->find(leaves, ambient, inputs);
  if (version == nullptr) version = impl_->find_or_capture(leaves, ambient, inputs, run, keep);
  if (version == nullptr || version->is_eager())
    throw Error(ErrorCode::UnsupportedOp, "explain",
                fmt::format("'{}' runs eagerly for these arguments", impl_->options.name),
                "Compile it with Unsupported::Error to see why");
  return compiler::explain(*version, *impl_->lowering);
}

Report Function::report() const {
  auto failures = impl_->lowering->failures();
  std::shared_lock lock(impl_->versions_mutex);
  auto report = impl_->report;
  report.compile_failures = failures.count;
  report.compile_failure_reasons = std::move(failures.reasons);
  report.calls = impl_->calls.load(std::memory_order_relaxed);
  return report;
}

std::shared_ptr<const Version> Function::Impl::newest() const {
  std::shared_lock lock(versions_mutex);
  for (const auto& version : versions)
    if (!version->is_eager()) return version;
  return nullptr;
}

std::string Function::graph_text() const {
  const auto version = impl_->newest();
  return version ? ir::print(version->graph()) : "";
}

std::string Function::forward_text() const {
  const auto version = impl_->newest();
  return version && version->partition() ? ir::print(version->partition()->forward) : "";
}

std::string Function::backward_text() const {
  const auto version = impl_->newest();
  return version && version->partition() ? ir::print(version->partition()->backward) : "";
}

std::string Function::partition_text() const {
  const auto version = impl_->newest();
  return version && version->partition() ? partition::print(version->partition()->decisions) : "";
}

std::string Function::signature_text() const {
  const auto version = impl_->newest();
  return version ? aot::print(version->caller().signature()) : "";
}

bool capturing() { return capture::active_recorder() != nullptr; }

}  // namespace antegrad::detail
