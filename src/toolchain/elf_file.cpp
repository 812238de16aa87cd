#include "toolchain/elf_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "antegrad/error.h"

namespace antegrad::toolchain {

void fail_load(const std::string& fact) {
  throw Error(ErrorCode::Compile, "load", "an object file cannot be loaded: " + fact,
              "Compile it again; if it came from a cache, remove the entry");
}

ElfFile::ElfFile(std::span<const uint8_t> bytes, ElfKind kind) : bytes_(bytes) {
  read_header(kind);
  read_symbols();
}

std::span<const uint8_t> ElfFile::slice(uint64_t offset, uint64_t size) const {
  if (offset > bytes_.size() || size > bytes_.size() - offset) {
    fail_load(fmt::format("{} bytes at {} are outside its {} bytes", size, offset, bytes_.size()));
  }
  return bytes_.subspan(offset, size);
}

template <class Entry>
std::vector<Entry> ElfFile::table(uint64_t offset, uint64_t size) const {
  const auto from = slice(offset, size);
  if (size % sizeof(Entry) != 0)
    fail_load(fmt::format("a table of {} bytes has entries of {}", size, sizeof(Entry)));
  std::vector<Entry> entries(size / sizeof(Entry));
  if (!entries.empty()) std::memcpy(entries.data(), from.data(), size);
  return entries;
}

void ElfFile::read_header(ElfKind kind) {
  const auto header = table<Elf64_Ehdr>(0, sizeof(Elf64_Ehdr)).front();
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) fail_load("it is not ELF");
  const bool cubin = kind == ElfKind::Cubin;
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_machine != (cubin ? kCudaMachine : EM_X86_64) || header.e_type != (cubin ? ET_EXEC : ET_REL)) {
    fail_load(fmt::format("it is not {} (type {}, machine {})",
                          cubin ? "an executable ELF64 file for CUDA" : "a relocatable ELF64 file for x86-64",
                          header.e_type, header.e_machine));
  }
  if (header.e_shentsize != sizeof(Elf64_Shdr)) {
    fail_load(fmt::format("its section headers have {} bytes", header.e_shentsize));
  }
  sections_ = table<Elf64_Shdr>(header.e_shoff, uint64_t{header.e_shnum} * sizeof(Elf64_Shdr));
  section_names_ = header.e_shstrndx;
  if (header.e_phnum > 0 && header.e_phentsize != sizeof(Elf64_Phdr))
    fail_load(fmt::format("its program headers have {} bytes", header.e_phentsize));
  for (const auto& segment : table<Elf64_Phdr>(header.e_phoff, uint64_t{header.e_phnum} * sizeof(Elf64_Phdr)))
    slice(segment.p_offset, segment.p_filesz);
}

void ElfFile::read_symbols() {
  const auto is_table = [](const Elf64_Shdr& section) { return section.sh_type == SHT_SYMTAB; };
  const auto found = std::ranges::find_if(sections_, is_table);
  if (found == sections_.end()) fail_load("it has no symbol table");
  symbols_ = table<Elf64_Sym>(found->sh_offset, found->sh_size);
  symbol_names_ = found->sh_link;
}

std::string_view ElfFile::text_at(const Elf64_Shdr& strings, uint64_t offset) const {
  if (strings.sh_type != SHT_STRTAB)
    fail_load(fmt::format("a string table has the type {}", strings.sh_type));
  const auto bytes = slice(strings.sh_offset, strings.sh_size);
  if (offset >= bytes.size()) fail_load(fmt::format("a name at {} is outside its string table", offset));
  const auto rest = bytes.subspan(offset);
  const auto end = std::ranges::find(rest, uint8_t{0});
  if (end == rest.end()) fail_load("a name does not end");
  return {reinterpret_cast<const char*>(rest.data()), static_cast<size_t>(end - rest.begin())};
}

std::string_view ElfFile::section_name(const Elf64_Shdr& section) const {
  if (section_names_ >= sections_.size()) fail_load(fmt::format("there is no section {}", section_names_));
  return text_at(sections_[section_names_], section.sh_name);
}

std::string_view ElfFile::symbol_name(const Elf64_Sym& symbol) const {
  if (symbol_names_ >= sections_.size()) fail_load(fmt::format("there is no section {}", symbol_names_));
  return text_at(sections_[symbol_names_], symbol.st_name);
}

std::span<const uint8_t> ElfFile::contents(const Elf64_Shdr& section) const {
  if (section.sh_type == SHT_NOBITS) return {};
  return slice(section.sh_offset, section.sh_size);
}

std::vector<Elf64_Rela> ElfFile::relocations(const Elf64_Shdr& section) const {
  return table<Elf64_Rela>(section.sh_offset, section.sh_size);
}

bool is_global_function(const Elf64_Sym& symbol) {
  const auto binding = ELF64_ST_BIND(symbol.st_info);
  return (binding == STB_GLOBAL || binding == STB_WEAK) && ELF64_ST_TYPE(symbol.st_info) == STT_FUNC &&
         symbol.st_shndx != SHN_UNDEF;
}

std::vector<std::string> defined_functions(std::span<const uint8_t> object) {
  const ElfFile file(object);
  std::vector<std::string> names;
  for (const auto& symbol : file.symbols()) {
    if (is_global_function(symbol)) names.emplace_back(file.symbol_name(symbol));
  }
  return names;
}

}  // namespace antegrad::toolchain
