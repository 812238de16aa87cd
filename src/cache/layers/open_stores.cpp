#include "cache/layers/open_stores.h"

#include "cache/directory/local_store.h"
#include "cache/directory/shared_directory_store.h"
#include "cache/layers/tiered.h"

namespace antegrad::cache {

OpenedStores open_stores(const Settings& settings, const std::shared_ptr<FileSystem>& files) {
  OpenedStores out;
  std::shared_ptr<const Secret> secret;
  if (!settings.key_file.empty()) {
    auto read = read_key_file(*files, settings.key_file);
    if (!read.secret) {
      out.reasons.push_back("nothing is cached: " + read.reason);
      return out;
    }
    secret = std::move(read.secret);
  }
  if (settings.local.enabled) {
    auto opened = open_local_store(settings.local, secret, files);
    out.local = std::move(opened.store);
    if (!out.local) out.reasons.push_back(std::move(opened.reason));
  }
  if (!settings.shared.directory.empty()) {
    auto opened = open_shared_directory_store(settings.shared, secret, files);
    out.shared = std::move(opened.store);
    if (!out.shared) out.reasons.push_back(std::move(opened.reason));
  }
  if (!settings.redis.url.empty()) {
    auto opened = open_redis_store(settings.redis, secret);
    out.redis = std::move(opened.store);
    if (!out.redis) out.reasons.push_back(std::move(opened.reason));
  }
  for (const auto& store : std::initializer_list<std::shared_ptr<Store>>{out.local, out.shared, out.redis}) {
    if (!store) continue;
    out.store = out.store ? std::make_shared<TieredStore>(out.store, store) : store;
  }
  return out;
}

}  // namespace antegrad::cache
