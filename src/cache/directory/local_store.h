#pragma once
#include <functional>
#include <memory>
#include <string>

#include "cache/directory/directory_store.h"
#include "cache/settings.h"

namespace antegrad::cache {

/// What decides where the local cache is. The library reads the environment elsewhere and hands it in.
struct CachePlaces {
  std::string cache_directory;  ///< what the user named for antegrad
  std::string xdg_cache_home;
  std::string home;
};

/// The home that the password database has for this user; empty when it has none.
std::string home_of_user();

/// cache_directory, else xdg_cache_home/antegrad, else home/.cache/antegrad, else that of the user's home;
/// empty when there is none. Homes that are not absolute paths do not count. Never a place for temporary
/// files.
std::string default_directory(const CachePlaces& places,
                              const std::function<std::string()>& user_home = home_of_user);

struct OpenedStore {
  std::shared_ptr<DirectoryStore> store;  ///< null when there is a reason
  std::string reason;
};

/// Makes the directory. It must be this user's own and closed to the writes of others. What exists on a
/// read-only file system is opened, and put() fails.
OpenedStore open_local_store(const LocalSettings& settings, std::shared_ptr<const Secret> secret,
                             std::shared_ptr<FileSystem> files);

}  // namespace antegrad::cache
