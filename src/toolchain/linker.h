#pragma once
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "toolchain/elf_file.h"
#include "toolchain/image.h"

namespace antegrad::toolchain {

/// Fills in the addresses that an object's code left open (its relocations).
class Linker {
 public:
  explicit Linker(const ElfFile& file);

  /// Applies all relocations; throws Error for symbols that are not known and addresses that do not fit.
  void link();
  /// The address of a defined function.
  void* function(const Elf64_Sym& symbol) const;
  std::unique_ptr<Mapping> finish() && { return std::move(image_).protect(); }

 private:
  struct Patch {
    size_t section;  ///< that is patched
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
