#include "toolchain/clang/lasting_statics.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string_view>

namespace antegrad::toolchain {
namespace {

int register_nothing(void (*)(void*), void*, void*) { return 0; }

/// Entries of the dynamic section of a loaded library.
struct Linkage {
  const char* names = nullptr;
  const ElfW(Sym) * symbols = nullptr;
  const ElfW(Rela) * relocations = nullptr;
  size_t count = 0;

  explicit Linkage(const ElfW(Dyn) * entry) {
    for (; entry->d_tag != DT_NULL; ++entry) switch (entry->d_tag) {
        case DT_STRTAB:
          names = reinterpret_cast<const char*>(entry->d_un.d_ptr);
          break;
        case DT_SYMTAB:
          symbols = reinterpret_cast<const ElfW(Sym)*>(entry->d_un.d_ptr);
          break;
        case DT_JMPREL:
          relocations = reinterpret_cast<const ElfW(Rela)*>(entry->d_un.d_ptr);
          break;
        case DT_PLTRELSZ:
          count = entry->d_un.d_val / sizeof(ElfW(Rela));
          break;
      }
  }
  bool complete() const { return names != nullptr && symbols != nullptr && relocations != nullptr; }
};

/// The table may be read-only after all symbols are bound.
bool make_writable(const void* address) {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(address) & ~(page - 1);
  return ::mprotect(reinterpret_cast<void*>(begin), page, PROT_READ | PROT_WRITE) == 0;
}

void replace_entry(uintptr_t base, const Linkage& linkage) {
  for (size_t i = 0; i < linkage.count; ++i) {
    const auto& relocation = linkage.relocations[i];
    const auto& symbol = linkage.symbols[ELF64_R_SYM(relocation.r_info)];
    if (std::string_view(linkage.names + symbol.st_name) != "__cxa_atexit") continue;
    auto* entry = reinterpret_cast<void**>(base + relocation.r_offset);
    if (make_writable(entry))
      __atomic_store_n(entry, reinterpret_cast<void*>(&register_nothing), __ATOMIC_RELEASE);
  }
}

}  // namespace

void leak_statics_of(const void* function) {
  Dl_info found{};
  link_map* library = nullptr;
  if (::dladdr1(function, &found, reinterpret_cast<void**>(&library), RTLD_DL_LINKMAP) == 0 ||
      library == nullptr)
    return;
  if (const Linkage linkage(library->l_ld); linkage.complete()) replace_entry(library->l_addr, linkage);
}

}  // namespace antegrad::toolchain
