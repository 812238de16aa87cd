#pragma once
#include <memory>
#include <string>
#include <vector>

#include "cache/directory/directory_store.h"
#include "cache/redis/redis_store.h"
#include "cache/settings.h"
#include "cache/store.h"

namespace antegrad::cache {

struct OpenedStores {
  std::shared_ptr<Store> store;            ///< all stores, nearest first; null when there is none
  std::shared_ptr<DirectoryStore> local;   ///< null when there is no local directory
  std::shared_ptr<DirectoryStore> shared;  ///< null when there is no shared directory
  std::shared_ptr<RedisStore> redis;       ///< null when there is no Redis server
  /// Why something that the settings name is not used; to be reported once.
  std::vector<std::string> reasons;
};

/// Throws nothing because of what is on disk, and does not connect to a server yet. A key file that cannot be
/// used disables all stores: without it nothing could be trusted.
OpenedStores open_stores(const Settings& settings, const std::shared_ptr<FileSystem>& files);

}  // namespace antegrad::cache
