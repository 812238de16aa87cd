#pragma once
#include <functional>
#include <memory>
#include <string>

#include "cache/directory/directory_store.h"
#include "cache/settings.h"

namespace antegrad::cache {

/// What determines the place of the local cache. The environment is read elsewhere and passed in.
struct CachePlaces {
  std::string cache_directory;  ///< chosen by the user for antegrad
  std::string xdg_cache_home;
  std::string home;
};

/// Returns the home directory of this user in the password database; empty when there is none.
std::string home_of_user();

/// Returns cache_directory, else xdg_cache_home/antegrad, else home/.cache/antegrad, else .cache/antegrad in
/// user_home(); empty when there is none. Relative home paths are ignored. It is never a folder for temporary
/// files.
std::string default_directory(const CachePlaces& places,
                              const std::function<std::string()>& user_home = home_of_user);

struct OpenedStore {
  std::shared_ptr<DirectoryStore> store;  ///< null on failure
  std::string reason;
};

/// Creates the directory if needed. It must belong to this user and not be writable by others. An existing
/// directory on a read-only file system is opened, and put() fails.
OpenedStore open_local_store(const LocalSettings& settings, std::shared_ptr<const Secret> secret,
                             std::shared_ptr<FileSystem> files);

}  // namespace antegrad::cache
