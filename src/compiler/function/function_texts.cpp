#include <fmt/format.h>

#include "antegrad/error.h"
#include "compiler/api/cache_counts.h"
#include "compiler/code/kept.h"
#include "compiler/function/explain.h"
#include "compiler/function/function_impl.h"
#include "ir/text.h"

namespace antegrad::detail {

Explanation Function::explain(const Leaves& leaves, const RunOnTensors& run, const KeepRun& keep) {
  const Call call{leaves, run, keep};
  auto match = impl_->find(call);
  if (!match) match = impl_->find_or_compile(call);
  if (match && match->once)
    match = impl_->find_or_compile(call);  // the first call may have filled a cache that now exists
  if (match && match->once) compiler::throw_keeps_tensors(impl_->options.name);
  if (match) match->version->throw_if_refused();
  if ((!match || match->instance == nullptr) && impl_->stretches) return impl_->stretches->explain();
  if (!match || match->instance == nullptr)
    throw Error(ErrorCode::UnsupportedOp, "explain",
                fmt::format("'{}' runs eagerly for these arguments", impl_->options.name),
                "Compile it with Unsupported::Error to see why");
  auto out = compiler::explain(*match->version, *match->instance, *impl_->lowering);
  const auto so_far = report();
  for (const auto& reason : so_far.recapture_reasons) out.reasons += reason + "\n";
  for (const auto& reason : so_far.fixed_sizes) out.reasons += reason + "\n";
  return out;
}

const Options& Function::options() const { return impl_->options; }

Report Function::report() const {
  auto failures = impl_->lowering->failures();
  std::shared_lock lock(impl_->versions_mutex);
  auto report = impl_->report;
  report.compile_failures = failures.count;
  report.compile_failure_reasons = std::move(failures.reasons);
  report.calls = impl_->calls.load(std::memory_order_relaxed);
  const auto cache = impl_->lowering->cache_log().totals();
  report.cache = compiler::counts_of(cache.outcomes);
  report.cache_reasons = cache.reasons;
  report.cache_keys = cache.keys;
  report.cache_seconds_saved_forward = cache.seconds_saved_forward;
  report.cache_seconds_saved_backward = cache.seconds_saved_backward;
  if (impl_->stretches) impl_->stretches->fill(report);
  return report;
}

std::shared_ptr<const Version> Function::Impl::newest() const {
  std::shared_lock lock(versions_mutex);
  for (const auto& version : versions)
    if (!version->is_eager()) return version;
  return nullptr;
}

std::vector<std::shared_ptr<const compiler::Version>> Function::versions() const {
  std::shared_lock lock(impl_->versions_mutex);
  std::vector<std::shared_ptr<const Version>> compiled;
  for (const auto& version : impl_->versions)
    if (!version->is_eager()) compiled.push_back(version);
  return compiled;
}

const std::string& Function::name() const { return impl_->options.name; }

std::string Function::graph_text() const {
  const auto version = impl_->newest();
  return version ? ir::print(version->compiled().plan().graph) : "";
}

/// Null when there is no backward pass.
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

}  // namespace antegrad::detail
