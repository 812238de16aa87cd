#pragma once
#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "toolchain/elf_file.h"
#include "toolchain/mapping.h"

namespace antegrad::toolchain {

/// Where a section was placed.
struct Placement {
  size_t offset = 0;  ///< in the mapping
  size_t size = 0;
  bool executable = false;
};

/// The sections of an object that occupy memory, copied into one mapping; writable until protect().
///
/// Segments start on page boundaries: code (stubs, then sections), constants (slots, then sections),
/// variables. A *slot* is an entry of the global offset table: it holds the address of a symbol that code
/// reaches indirectly. Its *stub* jumps there, for calls to functions too far away for 32-bit offsets.
class Image {
 public:
  /// The file must have passed check_sections(). Reserves `slots` slots and stubs.
  Image(const ElfFile& file, size_t slots);

  const std::optional<Placement>& section(size_t index) const { return sections_[index]; }
  uint8_t* at(size_t offset) const { return mapping_->bytes().data() + offset; }
  uint64_t address(size_t offset) const { return reinterpret_cast<uint64_t>(at(offset)); }

  uint64_t slot_address(size_t slot) const;
  uint64_t stub_address(size_t slot) const;
  void set_slot(size_t slot, uint64_t target) const;

  /// Makes code read-execute and constants read-only, and returns the mapping.
  std::unique_ptr<Mapping> protect() &&;

 private:
  enum Segment { kCode, kConstants, kVariables, kSegments };
  struct Range {
    size_t begin = 0, end = 0;
  };

  static Segment segment_of(const Elf64_Shdr& section);
  void lay_out(const ElfFile& file, size_t slots);
  void copy(const ElfFile& file);

  std::vector<std::optional<Placement>> sections_;
  std::array<Range, kSegments> segments_;
  std::unique_ptr<Mapping> mapping_;
};

/// Throws Error for sections that are rejected: thread-local storage, constructors, compressed sections,
/// writable code, an executable stack, alignment beyond a page.
void check_sections(const ElfFile& file);

/// Whether a section is part of the image.
bool takes_memory(const ElfFile& file, const Elf64_Shdr& section);

}  // namespace antegrad::toolchain
