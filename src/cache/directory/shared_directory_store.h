#pragma once
#include <memory>

#include "cache/directory/local_store.h"

namespace antegrad::cache {

/// A directory that others write to as well. It is never made, its files may be anybody's, and only entries
/// with the MAC of the secret are believed; without a secret there is no store. Nothing is ever removed from
/// it unless it may be written, and no limit holds.
OpenedStore open_shared_directory_store(const SharedSettings& settings, std::shared_ptr<const Secret> secret,
                                        std::shared_ptr<FileSystem> files);

}  // namespace antegrad::cache
