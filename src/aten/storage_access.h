#pragma once
#include <c10/core/StorageImpl.h>

namespace antegrad::aten {

/// Lets a storage be used again that refuses access since
/// release_data_and_set_meta_custom_data_ptr_error_msg_(). StorageImpl has no function for that.
void stop_refusing_access(c10::StorageImpl& storage);

}  // namespace antegrad::aten
