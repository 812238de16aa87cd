#pragma once
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "toolchain/elf_file.h"
#include "toolchain/image.h"

namespace antegrad::toolchain {

/// Resolves the relocations of an object.
class Linker {
 public:
  explicit Linker(const ElfFile& file);

  /// Applies all relocations. Throws Error for unknown symbols and addresses that do not fit.
  void link();
  /// Returns the address of a defined function.
  void* function(const Elf64_Sym& symbol) const;
  std::unique_ptr<Mapping> finish() && { return std::move(image_).protect(); }

 private:
  struct Patch {
    size_t section;  ///< the section to patch
    Elf64_Rela relocation;
  };
  using Slots = std::unordered_map<uint32_t, size_t>;  ///< symbol index → slot

  static std::vector<Patch> collect(const ElfFile& file);
  static Slots assign_slots(const ElfFile& file, const std::vector<Patch>& patches);
  uint64_t symbol_address(const Elf64_Sym& symbol) const;
  uint64_t external_address(const Elf64_Sym& symbol) const;
  void apply(const Patch& patch) const;

  const ElfFile& file_;
  const std::vector<Patch> patches_;
  const Slots slots_;
  Image image_;
};

}  // namespace antegrad::toolchain
