#include "cache/directory/local_store.h"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <vector>

namespace antegrad::cache {
namespace {

bool is_absolute(const std::string& path) { return path.starts_with('/'); }

}  // namespace

std::string home_of_user() {
  std::vector<char> buffer(16384);
  passwd entry{};
  passwd* found = nullptr;
  const int error = ::getpwuid_r(::geteuid(), &entry, buffer.data(), buffer.size(), &found);
  return error == 0 && found && found->pw_dir ? found->pw_dir : "";
}

std::string default_directory(const CachePlaces& places, const std::function<std::string()>& user_home) {
  if (!places.cache_directory.empty()) return places.cache_directory;
  if (is_absolute(places.xdg_cache_home)) return places.xdg_cache_home + "/antegrad";
  // The password database may be on the network, so it is queried last.
  const auto home = is_absolute(places.home) ? places.home : user_home();
  return is_absolute(home) ? home + "/.cache/antegrad" : "";
}

OpenedStore open_local_store(const LocalSettings& settings, std::shared_ptr<const Secret> secret,
                             std::shared_ptr<FileSystem> files) {
  if (settings.directory.empty()) return {nullptr, "there is no local cache: no directory for it is known"};
  const auto directory = normal_path(settings.directory);
  if (directory.empty()) return {nullptr, fmt::format("{} is no directory", settings.directory)};
  auto store = std::make_shared<DirectoryStore>(
      DirectorySettings{"local", directory, FolderRules{}, settings.limit_bytes,
                        settings.writes_per_collection, settings.sync, settings.read_only},
      std::move(secret), std::move(files));
  if (const auto problem = store->problem(); !problem.empty()) {
    return {nullptr, fmt::format("there is no local cache: {}", problem)};
  }
  return {std::move(store), {}};
}

}  // namespace antegrad::cache
