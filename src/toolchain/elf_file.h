#pragma once
#include <elf.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace antegrad::toolchain {

/// The machine of cubins in ELF headers: EM_CUDA, which older system headers lack.
constexpr int kCudaMachine = 190;

/// The kinds of ELF64 files that are loaded.
enum class ElfKind {
  Object,  ///< relocatable, for x86-64
  Cubin,   ///< executable, for CUDA devices
};

/// A checked view of an ELF64 file. The bytes may be untrusted: every offset, size and index is checked, and
/// errors throw Error(Compile). The bytes must outlive the view.
class ElfFile {
 public:
  explicit ElfFile(std::span<const uint8_t> bytes, ElfKind kind = ElfKind::Object);

  const std::vector<Elf64_Shdr>& sections() const { return sections_; }
  const std::vector<Elf64_Sym>& symbols() const { return symbols_; }

  size_t size() const { return bytes_.size(); }
  std::string_view section_name(const Elf64_Shdr& section) const;
  std::string_view symbol_name(const Elf64_Sym& symbol) const;
  /// Returns the contents of a section; empty for SHT_NOBITS.
  std::span<const uint8_t> contents(const Elf64_Shdr& section) const;
  /// Returns the entries of a section of type SHT_RELA.
  std::vector<Elf64_Rela> relocations(const Elf64_Shdr& section) const;

 private:
  void read_header(ElfKind kind);
  void read_symbols();
  std::string_view text_at(const Elf64_Shdr& strings, uint64_t offset) const;
  std::span<const uint8_t> slice(uint64_t offset, uint64_t size) const;
  template <class Entry>
  std::vector<Entry> table(uint64_t offset, uint64_t size) const;

  std::span<const uint8_t> bytes_;
  std::vector<Elf64_Shdr> sections_;
  std::vector<Elf64_Sym> symbols_;
  uint32_t section_names_ = 0;  ///< index of the string table
  uint32_t symbol_names_ = 0;
};

/// Whether the symbol is a global function defined in this file.
bool is_global_function(const Elf64_Sym& symbol);

/// Returns the names of global functions, in the order of the symbol table.
std::vector<std::string> defined_functions(std::span<const uint8_t> object);

/// Throws Error(Compile) for an object that cannot be loaded.
[[noreturn]] void fail_load(const std::string& fact);

}  // namespace antegrad::toolchain
