#include "toolchain/mapping.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "toolchain/elf_file.h"

namespace antegrad::toolchain {

Mapping::Mapping(size_t size) {
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail_load(fmt::format("no memory for {} bytes: {}", size, std::strerror(errno)));
  bytes_ = {static_cast<uint8_t*>(memory), size};
}

Mapping::~Mapping() { munmap(bytes_.data(), bytes_.size()); }

void Mapping::protect(size_t offset, size_t size, int protection) const {
  if (size == 0) return;
  if (mprotect(bytes_.data() + offset, size, protection) != 0) {
    fail_load(fmt::format("its pages cannot be protected: {}", std::strerror(errno)));
  }
}

}  // namespace antegrad::toolchain
