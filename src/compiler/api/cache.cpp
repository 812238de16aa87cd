#include "antegrad/cache.h"

#include <algorithm>

#include "compiler/api/cache_counts.h"
#include "compiler/cache/caches.h"
#include "compiler/cache/settings.h"

namespace antegrad {
namespace {

cache::Settings settings_of(const CacheConfig& config) {
  cache::Settings settings;
  settings.local.directory = config.directory;
  settings.local.limit_bytes = static_cast<uint64_t>(std::max<int64_t>(0, config.limit_bytes));
  settings.shared = {config.shared_directory, config.write_shared};
  settings.redis.url = config.redis;
  settings.redis.write = config.write_redis;
  settings.key_file = config.key_file;
  return compiler::with_environment(std::move(settings));
}

}  // namespace

void configure_cache(const CacheConfig& config) { compiler::Caches::configure(settings_of(config)); }

CacheReport cache_report() {
  const auto caches = compiler::Caches::current();
  auto reasons = caches->reasons();
  return {caches->directory(), compiler::counts_of(caches->functions.counters()),
          compiler::counts_of(caches->kernels.counters()), std::move(reasons)};
}

bool flush_cache(std::chrono::milliseconds timeout) { return compiler::Caches::current()->flush(timeout); }

std::string export_cache() { return compiler::Caches::current()->export_used(); }

CacheImport import_cache(std::string_view bundle) {
  auto imported = compiler::Caches::current()->import_bundle(bundle);
  return {imported.entries, std::move(imported.reasons)};
}

}  // namespace antegrad
