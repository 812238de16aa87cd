#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace antegrad::toolchain {

/// Pages of memory, unmapped by the destructor.
class Mapping {
 public:
  /// Maps writable, zeroed memory; throws Error.
  explicit Mapping(size_t size);
  ~Mapping();
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  std::span<uint8_t> bytes() const { return bytes_; }
  /// Sets PROT_… flags of <sys/mman.h> on whole pages; throws Error.
  void protect(size_t offset, size_t size, int protection) const;

 private:
  std::span<uint8_t> bytes_;
};

}  // namespace antegrad::toolchain
