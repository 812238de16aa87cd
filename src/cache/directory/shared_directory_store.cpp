#include "cache/directory/shared_directory_store.h"

#include <fmt/format.h>

namespace antegrad::cache {

OpenedStore open_shared_directory_store(const SharedSettings& settings, std::shared_ptr<const Secret> secret,
                                        std::shared_ptr<FileSystem> files) {
  const auto unusable = [&](const std::string& reason) -> OpenedStore {
    return {nullptr, fmt::format("the shared cache {} is not used: {}", settings.directory, reason)};
  };
  if (!secret) return unusable("its entries need a key, and no key file is set");
  // The umask and the directory determine who else may read and write there.
  const FolderRules rules{.ours_only = false, .directory_mode = 0777, .file_mode = 0666};
  DirectorySettings own{"shared", normal_path(settings.directory), rules};
  own.read_only = !settings.write;
  own.create_root = false;
  auto store = std::make_shared<DirectoryStore>(std::move(own), std::move(secret), std::move(files));
  if (const auto problem = store->problem(); !problem.empty()) return unusable(problem);
  return {std::move(store), {}};
}

}  // namespace antegrad::cache
