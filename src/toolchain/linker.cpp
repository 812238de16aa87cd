#include "toolchain/linker.h"

#include <fmt/format.h>

#include <cstring>
#include <limits>

#include "toolchain/runtime_symbols.h"

namespace antegrad::toolchain {
namespace {

/// How a relocated value is computed from symbol S, addend A, place P and slot G.
enum class Formula { None, Absolute, Relative, SlotRelative };
enum class Width { Bits32, Bits32Signed, Bits64 };

struct Kind {
  Formula formula;
  Width width;
};

Kind kind_of(uint32_t type) {
  switch (type) {
    case R_X86_64_NONE:
      return {Formula::None, Width::Bits64};
    case R_X86_64_64:
      return {Formula::Absolute, Width::Bits64};
    case R_X86_64_32:
      return {Formula::Absolute, Width::Bits32};
    case R_X86_64_32S:
      return {Formula::Absolute, Width::Bits32Signed};
    case R_X86_64_PC32:
    case R_X86_64_PLT32:
      return {Formula::Relative, Width::Bits32Signed};
    case R_X86_64_PC64:
      return {Formula::Relative, Width::Bits64};
    case R_X86_64_GOTPCREL:
    case R_X86_64_GOTPCRELX:
    case R_X86_64_REX_GOTPCRELX:
      return {Formula::SlotRelative, Width::Bits32Signed};
    default:
      fail_load(fmt::format("relocations of type {} are not known", type));
  }
}

uint32_t symbol_of(const Elf64_Rela& relocation) { return ELF64_R_SYM(relocation.r_info); }
uint32_t type_of(const Elf64_Rela& relocation) { return ELF64_R_TYPE(relocation.r_info); }

/// Symbol 0 is the absolute address 0 and has no name.
bool is_external(const ElfFile& file, uint32_t symbol) {
  return symbol != 0 && file.symbols()[symbol].st_shndx == SHN_UNDEF;
}

const ElfFile& checked(const ElfFile& file) {
  check_sections(file);
  return file;
}

void store(uint8_t* place, uint64_t value, Width width) {
  if (width == Width::Bits64) {
    std::memcpy(place, &value, sizeof(value));
    return;
  }
  const bool fits = width == Width::Bits32
                        ? value <= std::numeric_limits<uint32_t>::max()
                        : static_cast<int64_t>(value) == static_cast<int32_t>(static_cast<uint32_t>(value));
  if (!fits) fail_load(fmt::format("the address {:#x} does not fit into 32 bits", value));
  const auto low = static_cast<uint32_t>(value);
  std::memcpy(place, &low, sizeof(low));
}

}  // namespace

Linker::Linker(const ElfFile& file)
    : file_(checked(file)),
      patches_(collect(file)),
      slots_(assign_slots(file, patches_)),
      image_(file, slots_.size()) {}

std::vector<Linker::Patch> Linker::collect(const ElfFile& file) {
  const auto& sections = file.sections();
  std::vector<Patch> patches;
  uint64_t total = 0;
  for (const auto& section : sections) {
    if (section.sh_type != SHT_RELA) continue;
    if (section.sh_info >= sections.size()) fail_load(fmt::format("there is no section {}", section.sh_info));
    if (!takes_memory(file, sections[section.sh_info])) continue;
    const auto relocations = file.relocations(section);
    // Tables of a valid file do not overlap; overlapping ones in a hostile file could cause much work with
    // few bytes.
    total += relocations.size() * sizeof(Elf64_Rela);
    if (total > file.size()) fail_load("its relocation tables overlap");
    for (const auto& relocation : relocations) {
      if (symbol_of(relocation) >= file.symbols().size()) {
        fail_load(fmt::format("there is no symbol {}", symbol_of(relocation)));
      }
      patches.push_back({section.sh_info, relocation});
    }
  }
  return patches;
}

Linker::Slots Linker::assign_slots(const ElfFile& file, const std::vector<Patch>& patches) {
  Slots slots;
  for (const auto& [section, relocation] : patches) {
    const auto symbol = symbol_of(relocation);
    const auto formula = kind_of(type_of(relocation)).formula;
    if (formula == Formula::SlotRelative || is_external(file, symbol)) slots.emplace(symbol, slots.size());
  }
  return slots;
}

uint64_t Linker::external_address(const Elf64_Sym& symbol) const {
  const auto name = file_.symbol_name(symbol);
  const void* found = runtime_symbol(name);
  if (!found) {
    fail_load(
        fmt::format("it calls '{}', which is not among the C library functions that kernels may call", name));
  }
  return reinterpret_cast<uint64_t>(found);
}

uint64_t Linker::symbol_address(const Elf64_Sym& symbol) const {
  const auto type = ELF64_ST_TYPE(symbol.st_info);
  if (type == STT_TLS || type == STT_GNU_IFUNC) fail_load(fmt::format("a symbol has the type {}", type));
  if (symbol.st_shndx == SHN_UNDEF) return external_address(symbol);
  if (symbol.st_shndx == SHN_ABS) return symbol.st_value;
  if (symbol.st_shndx >= file_.sections().size())
    fail_load(fmt::format("there is no section {}", symbol.st_shndx));
  const auto& placed = image_.section(symbol.st_shndx);
  if (!placed) fail_load(fmt::format("a symbol is in section {}, which takes no memory", symbol.st_shndx));
  if (symbol.st_value > placed->size)
    fail_load(fmt::format("a symbol is at {}, outside its section", symbol.st_value));
  return image_.address(placed->offset + symbol.st_value);
}

void Linker::apply(const Patch& patch) const {
  const auto [formula, width] = kind_of(type_of(patch.relocation));
  if (formula == Formula::None) return;
  const auto& placed = *image_.section(patch.section);
  const auto offset = patch.relocation.r_offset;
  const size_t bytes = width == Width::Bits64 ? 8 : 4;
  if (placed.size < bytes || offset > placed.size - bytes) {
    fail_load(fmt::format("a relocation at {} is outside its section", offset));
  }
  const auto index = symbol_of(patch.relocation);
  uint64_t value = static_cast<uint64_t>(patch.relocation.r_addend);
  if (formula == Formula::SlotRelative) {
    value += image_.slot_address(slots_.at(index));
  } else if (formula == Formula::Relative && is_external(file_, index)) {
    value += image_.stub_address(slots_.at(index));
  } else if (index != 0) {
    value += symbol_address(file_.symbols()[index]);
  }
  if (formula != Formula::Absolute) value -= image_.address(placed.offset + offset);
  store(image_.at(placed.offset + offset), value, width);
}

void Linker::link() {
  for (const auto& [symbol, slot] : slots_) {
    image_.set_slot(slot, symbol == 0 ? 0 : symbol_address(file_.symbols()[symbol]));
  }
  for (const auto& patch : patches_) apply(patch);
}

void* Linker::function(const Elf64_Sym& symbol) const {
  const auto address = symbol_address(symbol);
  const bool in_code =
      symbol.st_shndx < file_.sections().size() && image_.section(symbol.st_shndx)->executable;
  if (!in_code) fail_load(fmt::format("'{}' is a function outside code", file_.symbol_name(symbol)));
  return reinterpret_cast<void*>(address);
}

}  // namespace antegrad::toolchain
