#pragma once
#include "package/record.h"

namespace antegrad::packaging {

/// Throws Error(Io) unless calls that the guards of the version let through have the tensors that its graphs
/// read: compiled code does not look at types and sizes again.
void check_types(const VersionRecord& version);

}  // namespace antegrad::packaging
