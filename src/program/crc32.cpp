#include "program/crc32.h"

#include <array>
#include <cstring>

namespace antegrad::program {
namespace {

/// Eight bytes at a time: table k is for a byte that k others follow.
using Crc32Tables = std::array<std::array<uint32_t, 256>, 8>;

constexpr Crc32Tables make_crc32_tables() {
  Crc32Tables tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) ? 0xEDB88320U : 0);
    tables[0][byte] = value;
  }
  for (size_t k = 1; k < 8; ++k)
    for (uint32_t byte = 0; byte < 256; ++byte)
      tables[k][byte] = (tables[k - 1][byte] >> 8) ^ tables[0][tables[k - 1][byte] & 255];
  return tables;
}

constexpr Crc32Tables kCrc32Tables = make_crc32_tables();

}  // namespace

uint32_t crc32(const void* data, size_t size, uint32_t before) {
  const auto& t = kCrc32Tables;
  const auto* bytes = static_cast<const unsigned char*>(data);
  uint32_t crc = ~before;
  for (; size >= 8; size -= 8, bytes += 8) {
    uint32_t low = 0, high = 0;
    std::memcpy(&low, bytes, 4);
    std::memcpy(&high, bytes + 4, 4);
    low ^= crc;
    crc = t[7][low & 255] ^ t[6][(low >> 8) & 255] ^ t[5][(low >> 16) & 255] ^ t[4][low >> 24] ^
          t[3][high & 255] ^ t[2][(high >> 8) & 255] ^ t[1][(high >> 16) & 255] ^ t[0][high >> 24];
  }
  for (; size > 0; --size, ++bytes) crc = (crc >> 8) ^ t[0][(crc ^ *bytes) & 255];
  return ~crc;
}

}  // namespace antegrad::program
