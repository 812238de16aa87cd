#pragma once
#include <cstddef>
#include <cstdint>

namespace antegrad::program {

/// Returns the checksum that zip archives use, of `before` followed by these bytes.
uint32_t crc32(const void* data, size_t size, uint32_t before = 0);

}  // namespace antegrad::program
