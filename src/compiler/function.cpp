#include "antegrad/function.h"

#include <fmt/format.h>

#include <atomic>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <sstream>

#include "antegrad/error.h"
#include "capture/mode.h"
#include "compiler/environment.h"
#include "compiler/explain.h"
#include "compiler/version.h"
#include "compiler/version_maker.h"
#include "ir/text.h"
#include "passes/pipeline.h"

namespace antegrad::detail {
namespace {

using compiler::Captured;
using compiler::CaptureSettings;
using compiler::Inputs;
using compiler::Instance;
using compiler::InstancePtr;
using compiler::ModuleState;
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
  std::optional<compiler::VersionMaker> maker;  ///< used with capture_mutex taken
  std::atomic<uint64_t> calls{0};

  mutable std::shared_mutex versions_mutex;        ///< guards versions and report
  std::vector<std::shared_ptr<Version>> versions;  ///< newest first
  Report report;

  std::mutex capture_mutex;  ///< one capture at a time; taken before versions_mutex

  /// What serves a call.
  struct Found {
    std::shared_ptr<const Version> version;
    InstancePtr instance;
    Inputs inputs;
  };
  bool find(const Leaves& leaves, const runtime::Ambient& ambient, Found& found) const;
  /// Leaves `found` without a version when the call is to run eagerly.
  void find_or_capture(const Leaves& leaves, const runtime::Ambient& ambient, const RunOnTensors& run,
                       const KeepRun& keep, Found& found);
  bool reuse(const Captured& captured, const Leaves& leaves, const runtime::Ambient& ambient,
             const KeepRun& keep, std::string& reason);
  void add(std::shared_ptr<Version> version, const std::string& reason, const std::string& eager_reason);
  std::shared_ptr<const Version> newest() const;  ///< null: none was captured
  bool room_for_another(std::string& reason, const Leaves& leaves, const runtime::Ambient& ambient);
  void give_up(const std::string& reason);
  void keep_fixed_sizes(const std::vector<std::string>& reasons);
  void check_recapture(const Instance& instance, const Leaves& leaves, const RunOnTensors& run);
  CaptureSettings settings() const { return {options, effects, lowering}; }
};

bool Function::Impl::find(const Leaves& leaves, const runtime::Ambient& ambient, Found& found) const {
  std::shared_lock lock(versions_mutex);
  for (const auto& version : versions)
    if (version->matches(leaves, ambient, found.inputs, found.instance)) {
      found.version = version;
      return true;
    }
  return false;
}

/// Drops versions that can never match again. Says why none of the rest matches; false when there are too
/// many.
bool Function::Impl::room_for_another(std::string& reason, const Leaves& leaves,
                                      const runtime::Ambient& ambient) {
  std::unique_lock lock(versions_mutex);
  if (!versions.empty() && reason.empty()) reason = versions.front()->mismatch(leaves, ambient);
  std::erase_if(versions, [](const auto& version) { return version->dead(); });
  return versions.size() < static_cast<size_t>(std::max(1, options.max_versions));
}

void Function::Impl::add(std::shared_ptr<Version> version, const std::string& reason,
                         const std::string& eager_reason) {
  std::unique_lock lock(versions_mutex);
  ++report.captures;
  if (!reason.empty()) keep(report.recapture_reasons, reason);
  if (!eager_reason.empty()) keep_once(report.eager_reasons, eager_reason);
  if (!version->is_eager()) report.nodes = version->compiled().plan().graph.nodes.size();
  for (const auto& [op, count] : version->shape_fallbacks()) report.shape_fallbacks[op] += count;
  versions.insert(versions.begin(), std::move(version));
}

/// Whether a version that has symbols serves these sizes too. If one should and does not, `reason` says why.
bool Function::Impl::reuse(const Captured& captured, const Leaves& leaves, const runtime::Ambient& ambient,
                           const KeepRun& keep, std::string& reason) {
  for (const auto& version : versions) {  // nobody else changes them: capture_mutex is taken
    if (!version->is_dynamic() || !version->allows(leaves, ambient)) continue;
    std::string why;
    if (auto instance = version->make_instance(settings(), leaves, captured, keep, why)) {
      std::unique_lock lock(versions_mutex);
      version->add(std::move(instance), options.max_sizes);
      ++report.sizes;
      return true;
    }
    reason = fmt::format("the function does something else at these sizes: {}", why);
  }
  return false;
}

void Function::Impl::find_or_capture(const Leaves& leaves, const runtime::Ambient& ambient,
                                     const RunOnTensors& run, const KeepRun& keep, Found& found) {
  std::scoped_lock capturing(capture_mutex);
  if (find(leaves, ambient, found)) return;  // another thread was first
  std::string reason;
  std::string eager_reason;
  std::optional<Captured> captured;  // holds lifted tensors until `found.inputs` does
  std::shared_ptr<Version> version;
  const ModuleState modules(options.watch);
  const auto capture = [&]() -> const Captured& {
    const std::vector<at::Tensor> inputs(leaves.tensors.begin(), leaves.tensors.end());
    if (!captured) captured = compiler::capture_call(settings(), inputs, &modules, run);
    return *captured;
  };
  try {
    if (std::any_of(
            versions.begin(), versions.end(),
            [&](const auto& known) { return known->is_dynamic() && known->allows(leaves, ambient); }) &&
        reuse(capture(), leaves, ambient, keep, reason) && find(leaves, ambient, found))
      return;
    if (!room_for_another(reason, leaves, ambient)) return give_up(reason);
    std::vector<std::string> fixed_sizes;
    version = maker->make({capture(), leaves, ambient, run, versions}, fixed_sizes);
    keep_fixed_sizes(fixed_sizes);
    std::string why;
    auto instance = version->make_instance(settings(), leaves, *captured, keep, why);
    if (instance == nullptr)
      throw Error(ErrorCode::Internal, "compile",
                  "a captured graph does not serve the call it was captured for: " + why);
    version->add(std::move(instance), options.max_sizes);
  } catch (const Error& error) {
    if (options.unsupported != Unsupported::Eager || !is_unsupported(error.code())) throw;
    eager_reason = error.what();
    version = std::make_shared<Version>(options, leaves);
  }
  if (!version->matches(leaves, ambient, found.inputs, found.instance))
    throw Error(ErrorCode::Internal, "compile",
                "a captured graph does not serve the call it was captured for: " +
                    version->mismatch(leaves, ambient));
  found.version = version;
  add(std::move(version), reason, eager_reason);
}

void Function::Impl::keep_fixed_sizes(const std::vector<std::string>& reasons) {
  std::unique_lock lock(versions_mutex);
  for (const auto& reason : reasons) keep_once(report.fixed_sizes, reason);
}

/// There are too many versions.
void Function::Impl::give_up(const std::string& reason) {
  auto text = fmt::format("'{}' was captured {} times, the last time because {}", options.name,
                          options.max_versions, reason);
  if (!report.fixed_sizes.empty()) text += fmt::format("; {}", report.fixed_sizes.back());
  if (options.unsupported != Unsupported::Eager)
    throw Error(ErrorCode::TooManyVersions, "compile", text,
                "Pass what changes from call to call as a tensor, or raise Options::max_versions");
  std::unique_lock lock(versions_mutex);
  keep_once(report.eager_reasons, text);
}

void Function::Impl::check_recapture(const Instance& instance, const Leaves& leaves,
                                     const RunOnTensors& run) {
  const auto text = compiler::traced_text_now(options, leaves, run);
  if (text == instance.traced_text) return;
  throw Error(ErrorCode::GraphChanged, "compile",
              fmt::format("'{}' does something else than when it was captured; {}", options.name,
                          first_difference(instance.traced_text, text)),
              "Pass what changed (a number, a flag) as an argument, or name the module in Options::watch");
}

Function::Function(Options options, bool effects) : impl_(std::make_unique<Impl>()) {
  impl_->effects = effects;
  impl_->options = compiler::with_environment(std::move(options));
  for (const auto& name : impl_->options.disabled_passes) passes::find_pass(name);
  impl_->lowering = std::make_shared<const compiler::Lowering>(impl_->options);
  impl_->maker.emplace(impl_->settings());
}

Function::~Function() = default;

Outcome Function::call(const Leaves& leaves, const RunOnTensors& run, const KeepRun& keep) {
  impl_->calls.fetch_add(1, std::memory_order_relaxed);
  const auto ambient = runtime::Ambient::now();
  Impl::Found found;
  const bool known = impl_->find(leaves, ambient, found);
  if (!known) impl_->find_or_capture(leaves, ambient, run, keep, found);
  if (found.instance == nullptr) {
    std::unique_lock lock(impl_->versions_mutex);
    ++impl_->report.eager_calls;
    return {{}, nullptr, true};
  }
  if (known && impl_->options.check_recapture) impl_->check_recapture(*found.instance, leaves, run);
  return {found.instance->caller->call(found.inputs), found.instance->pattern, false};
}

Explanation Function::explain(const Leaves& leaves, const RunOnTensors& run, const KeepRun& keep) {
  const auto ambient = runtime::Ambient::now();
  Impl::Found found;
  if (!impl_->find(leaves, ambient, found)) impl_->find_or_capture(leaves, ambient, run, keep, found);
  if (found.instance == nullptr)
    throw Error(ErrorCode::UnsupportedOp, "explain",
                fmt::format("'{}' runs eagerly for these arguments", impl_->options.name),
                "Compile it with Unsupported::Error to see why");
  auto out = compiler::explain(*found.version, *impl_->lowering);
  const auto so_far = report();
  for (const auto& reason : so_far.recapture_reasons) out.reasons += reason + "\n";
  for (const auto& reason : so_far.fixed_sizes) out.reasons += reason + "\n";
  return out;
}

Report Function::report() const {
  auto failures = impl_->lowering->failures();
  std::shared_lock lock(impl_->versions_mutex);
  auto report = impl_->report;
  report.compile_failures = failures.count;
  report.compile_failure_reasons = std::move(failures.reasons);
  report.calls = impl_->calls.load(std::memory_order_relaxed);
  impl_->lowering->cache_log().fill(report);
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
  return version ? ir::print(version->compiled().plan().graph) : "";
}

/// Null: it has no backward pass.
static const partition::Partition* partition_of(const Version* version) {
  if (version == nullptr || !version->compiled().plan().partition) return nullptr;
  return &*version->compiled().plan().partition;
}

std::string Function::forward_text() const {
  const auto version = impl_->newest();
  const auto* partition = partition_of(version.get());
  return partition != nullptr ? ir::print(partition->forward) : "";
}

std::string Function::backward_text() const {
  const auto version = impl_->newest();
  const auto* partition = partition_of(version.get());
  return partition != nullptr ? ir::print(partition->backward) : "";
}

std::string Function::partition_text() const {
  const auto version = impl_->newest();
  const auto* partition = partition_of(version.get());
  return partition != nullptr ? partition::print(partition->decisions) : "";
}

std::string Function::signature_text() const {
  std::shared_lock lock(impl_->versions_mutex);
  for (const auto& version : impl_->versions)
    if (!version->is_eager()) return aot::print(version->newest_instance()->caller->signature());
  return "";
}

bool capturing() { return capture::active_recorder() != nullptr; }

}  // namespace antegrad::detail
