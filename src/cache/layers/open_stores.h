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
  std::shared_ptr<Store> store;            ///< all there is, near before far; null: nothing is kept
  std::shared_ptr<DirectoryStore> local;   ///< null: no local directory
  std::shared_ptr<DirectoryStore> shared;  ///< null: no shared directory
  std::shared_ptr<RedisStore> redis;       ///< null: no Redis server
  std::vector<std::string> reasons;  ///< why something that the settings name is not used; to be said once
};

/// Never throws for what it finds on disk; connects to nothing yet. A key file that cannot be used switches
/// all stores off: without it, nothing could be believed.
OpenedStores open_stores(const Settings& settings, const std::shared_ptr<FileSystem>& files);

}  // namespace antegrad::cache
