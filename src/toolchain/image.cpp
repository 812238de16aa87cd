#include "toolchain/image.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace antegrad::toolchain {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kMaxImage = size_t{256} << 20;
constexpr size_t kSlotSize = 8, kStubSize = 8;

size_t aligned(size_t offset, size_t alignment) { return (offset + alignment - 1) & ~(alignment - 1); }

/// Unwind tables and notes are for debuggers and linkers; kernels do not throw.
bool is_ignored(std::string_view name, const Elf64_Shdr& section) {
  return section.sh_type == SHT_NOTE || section.sh_type == SHT_X86_64_UNWIND || name == ".eh_frame";
}

bool is_constructor_list(std::string_view name, const Elf64_Shdr& section) {
  return section.sh_type == SHT_INIT_ARRAY || section.sh_type == SHT_FINI_ARRAY ||
         section.sh_type == SHT_PREINIT_ARRAY || name == ".init" || name == ".fini" ||
         name.starts_with(".ctors") || name.starts_with(".dtors");
}

void check_section(const ElfFile& file, const Elf64_Shdr& section) {
  const auto name = file.section_name(section);
  const auto refuse = [&](std::string_view why) { fail_load(fmt::format("section {} {}", name, why)); };
  if (section.sh_type == SHT_REL) refuse("has relocations without addends");
  if (name == ".note.GNU-stack" && (section.sh_flags & SHF_EXECINSTR)) refuse("asks for an executable stack");
  if (!takes_memory(file, section)) return;
  if (is_constructor_list(name, section)) refuse("has constructors");
  if (section.sh_flags & SHF_TLS) refuse("is thread-local");
  if (section.sh_flags & SHF_COMPRESSED) refuse("is compressed");
  if ((section.sh_flags & SHF_WRITE) && (section.sh_flags & SHF_EXECINSTR)) refuse("is writable code");
  if (section.sh_type != SHT_PROGBITS && section.sh_type != SHT_NOBITS) {
    refuse(fmt::format("has the unknown type {}", section.sh_type));
  }
  if (section.sh_addralign > kPage || (section.sh_addralign && !std::has_single_bit(section.sh_addralign))) {
    refuse(fmt::format("is aligned to {}", section.sh_addralign));
  }
}

}  // namespace

void check_sections(const ElfFile& file) {
  for (const auto& section : file.sections()) check_section(file, section);
}

bool takes_memory(const ElfFile& file, const Elf64_Shdr& section) {
  return (section.sh_flags & SHF_ALLOC) && !is_ignored(file.section_name(section), section);
}

Image::Image(const ElfFile& file, size_t slots) {
  lay_out(file, slots);
  mapping_ = std::make_unique<Mapping>(std::max(segments_[kVariables].end, kPage));
  copy(file);
}

Image::Segment Image::segment_of(const Elf64_Shdr& section) {
  if (section.sh_flags & SHF_EXECINSTR) return kCode;
  return section.sh_flags & SHF_WRITE ? kVariables : kConstants;
}

void Image::lay_out(const ElfFile& file, size_t slots) {
  sections_.resize(file.sections().size());
  size_t end = 0;
  for (const Segment segment : {kCode, kConstants, kVariables}) {
    const size_t begin = end;
    if (segment == kCode) end += slots * kStubSize;
    if (segment == kConstants) end += slots * kSlotSize;
    for (size_t i = 0; i < sections_.size(); ++i) {
      const auto& section = file.sections()[i];
      if (!takes_memory(file, section) || segment_of(section) != segment) continue;
      end = aligned(end, std::max<size_t>(section.sh_addralign, 1));
      if (section.sh_size > kMaxImage || end > kMaxImage - section.sh_size) {
        fail_load(fmt::format("it takes more than {} bytes", kMaxImage));
      }
      sections_[i] = Placement{end, section.sh_size, segment == kCode};
      end += section.sh_size;
    }
    end = aligned(end, kPage);
    segments_[segment] = {begin, end};
  }
}

void Image::copy(const ElfFile& file) {
  for (size_t i = 0; i < sections_.size(); ++i) {
    if (!sections_[i]) continue;
    const auto contents = file.contents(file.sections()[i]);
    if (!contents.empty()) std::memcpy(at(sections_[i]->offset), contents.data(), contents.size());
  }
}

uint64_t Image::slot_address(size_t slot) const {
  return address(segments_[kConstants].begin + slot * kSlotSize);
}

uint64_t Image::stub_address(size_t slot) const { return address(segments_[kCode].begin + slot * kStubSize); }

void Image::set_slot(size_t slot, uint64_t target) const {
  std::memcpy(at(segments_[kConstants].begin + slot * kSlotSize), &target, sizeof(target));
  // jmp *distance(%rip): the distance counts from the end of these six bytes.
  uint8_t stub[] = {0xff, 0x25, 0, 0, 0, 0};
  const auto distance = static_cast<int32_t>(slot_address(slot) - stub_address(slot) - sizeof(stub));
  std::memcpy(stub + 2, &distance, sizeof(distance));
  std::memcpy(at(segments_[kCode].begin + slot * kStubSize), stub, sizeof(stub));
}

std::unique_ptr<Mapping> Image::protect() && {
  const auto& code = segments_[kCode];
  const auto& constants = segments_[kConstants];
  mapping_->protect(code.begin, code.end - code.begin, PROT_READ | PROT_EXEC);
  mapping_->protect(constants.begin, constants.end - constants.begin, PROT_READ);
  return std::move(mapping_);
}

}  // namespace antegrad::toolchain
