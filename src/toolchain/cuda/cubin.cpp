#include "toolchain/cuda/cubin.h"

#include <cstring>

#include "toolchain/elf_file.h"

namespace antegrad::toolchain::cuda {

bool is_cubin(std::span<const uint8_t> bytes) {
  Elf64_Ehdr header;
  if (bytes.size() < sizeof header) return false;
  std::memcpy(&header, bytes.data(), sizeof header);
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_machine == kCudaMachine;
}

std::vector<std::string> functions_of_cubin(std::span<const uint8_t> cubin) {
  const ElfFile file(cubin, ElfKind::Cubin);
  for (const auto& section : file.sections()) {
    file.section_name(section);
    file.contents(section);
  }
  std::vector<std::string> names;
  for (const auto& symbol : file.symbols()) {
    const auto name = file.symbol_name(symbol);
    if (symbol.st_shndx != SHN_UNDEF && symbol.st_shndx < SHN_LORESERVE &&
        symbol.st_shndx >= file.sections().size())
      fail_load("a symbol is in a section that does not exist");
    if (is_global_function(symbol)) names.emplace_back(name);
  }
  return names;
}

}  // namespace antegrad::toolchain::cuda
