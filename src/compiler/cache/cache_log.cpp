#include "compiler/cache/cache_log.h"

#include "trace/trace.h"
#include "util/reasons.h"

namespace antegrad::compiler {

void CacheLog::note(const std::string& reason) {
  const std::scoped_lock lock(mutex_);
  if (append_unique(reasons_, reason)) trace::warn("cache", reason);
}

void CacheLog::add_key(const std::string& key) {
  const std::scoped_lock lock(mutex_);
  keep_newest(keys_, key);
}

void CacheLog::add_saved(double forward, double backward) {
  const std::scoped_lock lock(mutex_);
  forward_ += forward;
  backward_ += backward;
}

void CacheLog::fill(Report& report) const {
  const std::scoped_lock lock(mutex_);
  report.cache = counts_of(outcomes_);
  report.cache_reasons = reasons_;
  report.cache_keys = keys_;
  report.cache_seconds_saved_forward = forward_;
  report.cache_seconds_saved_backward = backward_;
}

CacheCounts counts_of(const cache::OutcomeCounter& counter) {
  const auto counts = counter.counters();
  return {counts.hits, counts.misses, counts.guard_misses, counts.bypasses, counts.corrupt, counts.refused};
}

}  // namespace antegrad::compiler
