// The loader: what it rejects, and that any bytes either load or throw.
#include "toolchain/module.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <random>

#include "antegrad/error.h"
#include "toolchain/elf_file.h"

namespace antegrad::toolchain {
namespace {

Object compiled(const std::string& source) { return system_toolchain()->compile(source, Isa::Baseline); }

/// An object with code, constants, a jump table, variables, internal and external calls.
const Object& rich_object() {
  static const Object object = compiled(
      "float expf(float); void* memset(void*, int, unsigned long);\n"
      "int exported = 7; static long zeros[100]; static const char* const words[] = {\"a\", \"bc\"};\n"
      "__attribute__((noinline)) float helper(float x) { return expf(x) * 1.5f + exported; }\n"
      "long k(float* x, long n, long op) {\n"
      "  memset(zeros, 1, sizeof zeros);\n"
      "  switch (op) {\n"
      "    case 0: return helper(x[0]); case 1: return x[1] * 3.25f; case 2: return zeros[n] + 3;\n"
      "    case 3: return words[n & 1][0]; case 4: x[n] = 0.125f; return 5; case 5: return n / 9; default: "
      "return n;\n"
      "  }\n"
      "}\n");
  return object;
}

std::string load_error(const Object& object) {
  try {
    Module::load(object);
    return {};
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Compile);
    return error.what();
  }
}

void expect_refused(const Object& object, const std::string& why) {
  const auto text = load_error(object);
  EXPECT_TRUE(text.starts_with("[load] an object file cannot be loaded: ")) << text;
  EXPECT_NE(text.find(why), std::string::npos) << text;
}

TEST(Module, RunsWhatItLoads) {
  const auto module = Module::load(rich_object());
  auto* k = reinterpret_cast<long (*)(float*, long, long)>(module->find("k"));
  ASSERT_NE(k, nullptr);
  float x[] = {0.f, 2.f, 3.f};
  EXPECT_EQ(k(x, 2, 0), 8);
  EXPECT_EQ(k(x, 2, 1), 6);
  EXPECT_EQ(k(x, 2, 2), 0x0101010101010104);
  EXPECT_EQ(k(x, 1, 3), 'b');
  EXPECT_EQ(k(x, 2, 4), 5);
  EXPECT_EQ(x[2], 0.125f);
}

TEST(Module, TwoOfOneObjectHaveTheirOwnVariables) {
  const auto object = compiled("static int calls; int count(void) { return ++calls; }\n");
  const auto first = Module::load(object), second = Module::load(object);
  auto* count = reinterpret_cast<int (*)()>(first->find("count"));
  EXPECT_EQ(count(), 1);
  EXPECT_EQ(count(), 2);
  EXPECT_EQ(reinterpret_cast<int (*)()>(second->find("count"))(), 1);
}

TEST(Module, NoPageIsWritableAndExecutable) {
  const auto module = Module::load(rich_object());
  const auto address = reinterpret_cast<uint64_t>(module->find("k"));
  std::ifstream maps("/proc/self/maps");
  bool found = false;
  for (std::string line; std::getline(maps, line);) {
    uint64_t begin = 0, end = 0;
    char rights[5] = {};
    ASSERT_EQ(std::sscanf(line.c_str(), "%lx-%lx %4s", &begin, &end, rights), 3);
    EXPECT_FALSE(rights[1] == 'w' && rights[2] == 'x') << line;
    if (address < begin || address >= end) continue;
    found = true;
    EXPECT_STREQ(rights, "r-xp");
  }
  EXPECT_TRUE(found);
}

TEST(Module, UnmapsWhenItGoes) {
  auto module = Module::load(rich_object());
  const auto address = reinterpret_cast<uint64_t>(module->find("k"));
  module.reset();
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    uint64_t begin = 0, end = 0;
    char rights[5] = {};
    ASSERT_EQ(std::sscanf(line.c_str(), "%lx-%lx %4s", &begin, &end, rights), 3);
    EXPECT_FALSE(address >= begin && address < end && rights[2] == 'x') << line;
  }
}

TEST(Refused, AFunctionThatKernelsMayNotCall) {
  expect_refused(compiled("int system(const char*); int f(void) { return system(\"ls\"); }\n"),
                 "it calls 'system'");
}

TEST(Refused, AVariableOfAnotherFile) {
  expect_refused(compiled("extern int errors; int f(void) { return errors; }\n"), "it calls 'errors'");
}

TEST(Refused, Constructors) {
  expect_refused(compiled("int x; __attribute__((constructor)) void f(void) { x = 1; }\n"),
                 "has constructors");
}

TEST(Refused, ThreadLocalVariables) {
  expect_refused(compiled("static __thread int x; int f(void) { return ++x; }\n"), "thread-local");
}

TEST(Refused, OtherFiles) {
  expect_refused({{}, {}}, "outside its 0 bytes");
  expect_refused({std::vector<uint8_t>(200, 'x'), {}}, "not ELF");
  auto other = rich_object();
  other.bytes[offsetof(Elf64_Ehdr, e_machine)] = EM_386;
  expect_refused(other, "not a relocatable ELF64 file for x86-64");
}

/// Returns the object with one section header changed.
template <class Change>
Object with_section(std::string_view name, const Change& change) {
  Object object = rich_object();
  const ElfFile file(rich_object().bytes);
  for (size_t i = 0; i < file.sections().size(); ++i) {
    auto section = file.sections()[i];
    if (file.section_name(section) != name) continue;
    change(section);
    Elf64_Ehdr header;
    std::memcpy(&header, object.bytes.data(), sizeof(header));
    std::memcpy(object.bytes.data() + header.e_shoff + i * sizeof(section), &section, sizeof(section));
    return object;
  }
  ADD_FAILURE() << "no section " << name;
  return object;
}

TEST(Refused, SectionsThatLie) {
  expect_refused(with_section(".text", [](auto& s) { s.sh_offset = ~uint64_t{0} - 3; }), "are outside its");
  expect_refused(with_section(".text", [](auto& s) { s.sh_size = uint64_t{1} << 62; }), "more than");
  expect_refused(with_section(".bss", [](auto& s) { s.sh_size = ~uint64_t{0}; }), "more than");
  expect_refused(with_section(".text", [](auto& s) { s.sh_flags |= SHF_WRITE; }), "writable code");
  expect_refused(with_section(".text", [](auto& s) { s.sh_addralign = 3; }), "aligned to 3");
  expect_refused(with_section(".text", [](auto& s) { s.sh_size = 8; }), "outside its section");
  expect_refused(with_section(".text", [](auto& s) { s.sh_flags &= ~uint64_t{SHF_EXECINSTR}; }),
                 "outside code");
  expect_refused(with_section(".rela.text", [](auto& s) { s.sh_info = 9999; }), "there is no section 9999");
  expect_refused(with_section(".rela.text", [](auto& s) { s.sh_size -= 1; }), "has entries of 24");
  expect_refused(with_section(".symtab", [](auto& s) { s.sh_link = 9999; }), "there is no section 9999");
  expect_refused(with_section(".symtab", [](auto& s) { s.sh_type = SHT_NULL; }), "no symbol table");
  expect_refused(with_section(".note.GNU-stack", [](auto& s) { s.sh_flags |= SHF_EXECINSTR; }),
                 "executable stack");
}

struct Counts {
  int loaded = 0, refused = 0;
  void load(const Object& object) { load_error(object).empty() ? ++loaded : ++refused; }
};

TEST(Fuzz, TruncatedObjects) {
  const auto& object = rich_object();
  Counts counts;
  for (size_t size = 0; size < object.bytes.size(); size += size < 200 ? 1 : 7) {
    Object cut = object;
    cut.bytes.resize(size);
    counts.load(cut);
  }
  EXPECT_EQ(counts.loaded, 0);
}

TEST(Fuzz, FlippedBytesLoadOrThrow) {
  std::mt19937 random(1);
  Counts counts;
  for (int round = 0; round < 4000; ++round) {
    Object object = rich_object();
    for (unsigned i = 0, flips = 1 + random() % 8; i < flips; ++i) {
      object.bytes[random() % object.bytes.size()] = static_cast<uint8_t>(random());
    }
    counts.load(object);
  }
  EXPECT_GT(counts.loaded, 0);
  EXPECT_GT(counts.refused, 0);
}

/// Most bytes of an object are code, but loaders go wrong in headers and tables.
TEST(Fuzz, HostileHeadersSymbolsAndRelocations) {
  const ElfFile file(rich_object().bytes);
  Elf64_Ehdr header;
  std::memcpy(&header, rich_object().bytes.data(), sizeof(header));
  std::vector<size_t> places;
  const auto add = [&](size_t offset, size_t size) {
    for (size_t i = 0; i < size; ++i) places.push_back(offset + i);
  };
  add(0, sizeof(header));
  add(header.e_shoff, header.e_shnum * sizeof(Elf64_Shdr));
  for (const auto& section : file.sections()) {
    if (section.sh_type == SHT_SYMTAB || section.sh_type == SHT_RELA) add(section.sh_offset, section.sh_size);
  }
  constexpr uint8_t kNasty[] = {0, 1, 2, 4, 8, 0x7f, 0x80, 0xfe, 0xff};
  std::mt19937 random(2);
  Counts counts;
  for (int round = 0; round < 8000; ++round) {
    Object object = rich_object();
    for (unsigned i = 0, flips = 1 + random() % 4; i < flips; ++i) {
      object.bytes[places[random() % places.size()]] = kNasty[random() % std::size(kNasty)];
    }
    counts.load(object);
  }
  EXPECT_GT(counts.loaded, 0);
  EXPECT_GT(counts.refused, 1000);
}

}  // namespace
}  // namespace antegrad::toolchain
