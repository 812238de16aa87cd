#pragma once
#include <cstddef>

namespace antegrad::inline util {

/// Returns whether the process could map so many bytes of memory now, whatever the limit (RLIMIT_AS,
/// RLIMIT_DATA, strict overcommit). Costs two system calls; the memory is released again.
bool has_room(size_t bytes) noexcept;

}  // namespace antegrad::inline util
