#include "toolchain/build_id.h"

#include <elf.h>
#include <fmt/format.h>
#include <link.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <vector>

namespace antegrad::toolchain {
namespace {

struct Search {
  uintptr_t address = 0;
  std::string id;
};

bool holds(const dl_phdr_info& module, uintptr_t address) {
  for (int i = 0; i < module.dlpi_phnum; ++i) {
    const auto& part = module.dlpi_phdr[i];
    const auto begin = module.dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_LOAD && address >= begin && address - begin < part.p_memsz) return true;
  }
  return false;
}

constexpr size_t kMostNotes = 1 << 16;  // bytes; more is no list of notes

constexpr size_t padded(size_t size) { return (size + 3) / 4 * 4; }

/// Returns the id in a note segment. The linker wrote it, so its lengths are trusted.
std::string id_in(const char* notes, size_t size) {
  while (size >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) head;
    std::memcpy(&head, notes, sizeof head);
    const auto* name = notes + sizeof head;
    const auto* contents = name + padded(head.n_namesz);
    if (head.n_type == NT_GNU_BUILD_ID && head.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0) {
      std::string hex;
      for (size_t i = 0; i < head.n_descsz; ++i)
        hex += fmt::format("{:02x}", static_cast<uint8_t>(contents[i]));
      return hex;
    }
    const auto length = sizeof head + padded(head.n_namesz) + padded(head.n_descsz);
    if (length > size) break;
    notes += length;
    size -= length;
  }
  return {};
}

int visit(dl_phdr_info* module, size_t, void* context) {
  auto& search = *static_cast<Search*>(context);
  if (!holds(*module, search.address)) return 0;
  for (int i = 0; i < module->dlpi_phnum && search.id.empty(); ++i) {
    const auto& part = module->dlpi_phdr[i];
    if (part.p_type == PT_NOTE)
      search.id = id_in(reinterpret_cast<const char*>(module->dlpi_addr + part.p_vaddr), part.p_memsz);
  }
  return 1;
}

}  // namespace

std::string build_id_of(const void* address) {
  Search search{reinterpret_cast<uintptr_t>(address), {}};
  dl_iterate_phdr(visit, &search);
  return search.id;
}

std::string build_id_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const auto read = [&](uint64_t offset, void* to, size_t size) {
    return file.seekg(static_cast<std::streamoff>(offset)) &&
           file.read(static_cast<char*>(to), static_cast<std::streamsize>(size));
  };
  ElfW(Ehdr) header;
  if (!read(0, &header, sizeof header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return {};
  std::string id;
  for (size_t i = 0; i < header.e_phnum && id.empty(); ++i) {
    ElfW(Phdr) part;
    if (!read(header.e_phoff + i * sizeof part, &part, sizeof part)) return {};
    if (part.p_type != PT_NOTE || part.p_filesz > kMostNotes) continue;
    std::vector<char> notes(part.p_filesz);
    if (read(part.p_offset, notes.data(), notes.size())) id = id_in(notes.data(), notes.size());
  }
  return id;
}

}  // namespace antegrad::toolchain
