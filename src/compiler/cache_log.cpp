#include "compiler/cache_log.h"

#include <algorithm>

namespace antegrad::compiler {
namespace {

/// A report of a long run stays small.
constexpr size_t kMost = 100;

}  // namespace

void CacheLog::note(const std::string& reason) {
  const std::scoped_lock lock(mutex_);
  if (reasons_.size() < kMost && std::find(reasons_.begin(), reasons_.end(), reason) == reasons_.end())
    reasons_.push_back(reason);
}

void CacheLog::add_key(const std::string& key) {
  const std::scoped_lock lock(mutex_);
  if (keys_.size() == kMost) keys_.erase(keys_.begin());
  keys_.push_back(key);
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
