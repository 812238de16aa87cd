#pragma once
#include <memory>

#include "cache/directory/local_store.h"

namespace antegrad::cache {

/// Opens a directory that others may write to as well. It is never created and its files may belong to
/// anybody; only entries with the MAC of the secret are trusted, and without a secret there is no store.
/// Entries are removed only if the store may write, and there is no size limit.
OpenedStore open_shared_directory_store(const SharedSettings& settings, std::shared_ptr<const Secret> secret,
                                        std::shared_ptr<FileSystem> files);

}  // namespace antegrad::cache
