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

CacheLog::Totals CacheLog::totals() const {
  const std::scoped_lock lock(mutex_);
  return {outcomes_.counters(), reasons_, keys_, forward_, backward_};
}

}  // namespace antegrad::compiler
