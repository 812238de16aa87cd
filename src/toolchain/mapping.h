#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace antegrad::toolchain {

/// Pages of this process; unmapped when it goes.
class Mapping {
 public:
  /// Writable zero bytes; throws Error.
  explicit Mapping(size_t size);
  ~Mapping();
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  std::span<uint8_t> bytes() const { return bytes_; }
  /// PROT_… of <sys/mman.h> for whole pages; throws Error.
  void protect(size_t offset, size_t size, int protection) const;

 private:
  std::span<uint8_t> bytes_;
};

}  // namespace antegrad::toolchain
