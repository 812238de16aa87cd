#pragma once
#include <cstddef>

namespace antegrad::inline util {

/// Whether the process could get so many bytes of memory just now, whatever limits it (RLIMIT_AS,
/// RLIMIT_DATA, strict overcommit). Takes two system calls; nothing is kept.
bool has_room(size_t bytes) noexcept;

}  // namespace antegrad::inline util
