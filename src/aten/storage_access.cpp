#include "aten/storage_access.h"

#include "aten/private_member.h"

namespace antegrad::aten {

ANTEGRAD_PRIVATE_MEMBER(RefusesAccess, c10::StorageImpl::throw_on_immutable_data_ptr_);

void stop_refusing_access(c10::StorageImpl& storage) { storage.*member_of(RefusesAccess{}) = false; }

}  // namespace antegrad::aten
