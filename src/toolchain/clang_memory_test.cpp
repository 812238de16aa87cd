// clang under a memory limit runs in another process and gives the same bytes; LLVM running out of memory
// does not end this process.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "antegrad/error.h"
#include "toolchain/clang_plugin.h"
#include "toolchain/clang_process.h"
#include "toolchain/toolchain.h"
#include "util/memory_room.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ANTEGRAD_LIMITS_WORK false  // sanitizers take terabytes of address space
#else
#define ANTEGRAD_LIMITS_WORK true
#endif

namespace antegrad::toolchain {
namespace {

class ClangMemory : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!ANTEGRAD_LIMITS_WORK) GTEST_SKIP() << "a sanitizer is here";
    if (!std::filesystem::exists(clang_plugin_path())) GTEST_SKIP() << "missing: clang";
  }
};

/// Returns a source with something to optimise.
std::string source(int statements) {
  std::string text =
      "void f(float* restrict a, const float* restrict b, long n) {\n  for (long i = 0; i < n; ++i) {\n"
      "    float x = b[i];\n";
  for (int i = 0; i < statements; ++i) text += fmt::format("    x = x * {}.5f + b[i + {}];\n", i, i % 7);
  return text + "    a[i] = x;\n  }\n}\n";
}

/// The clang program gets the same limit, and this process uses less memory than programs with LibTorch do,
/// so it maps some more first.
void limit_to(size_t more) {
  ASSERT_NE(::mmap(nullptr, size_t{1} << 30, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0),
            MAP_FAILED);
  std::ifstream file("/proc/self/statm");
  size_t pages = 0;
  file >> pages;
  const rlimit limit = {pages * static_cast<size_t>(::sysconf(_SC_PAGESIZE)) + more, RLIM_INFINITY};
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &limit), 0);
}

/// The stack of a main thread grows on use; under a limit that may end in a signal.
void grow_stack() {
  volatile char bytes[size_t{1} << 20];
  for (size_t i = 0; i < sizeof(bytes); i += 4096) bytes[i] = 1;
}

/// Runs the body in a child and returns its exit status, or 128 + signal number.
int in_child(const std::function<int()>& body) {
  const auto child = ::fork();
  if (child == 0) {
    try {
      ::_exit(body());
    } catch (...) {
      ::_exit(99);
    }
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

TEST_F(ClangMemory, RoomIsWhatALimitLeaves) {
  EXPECT_TRUE(has_room(size_t{1} << 20));
  EXPECT_EQ(in_child([] {
              limit_to(size_t{64} << 20);
              return has_room(size_t{128} << 20) ? 1 : !has_room(size_t{16} << 20) ? 2 : 0;
            }),
            0);
}

TEST_F(ClangMemory, CompilesInAnotherProcessWhereLittleIsLeft) {
  const auto isa = detect_isa();
  ASSERT_EQ(opened_clang_plugin(), nullptr);
  for (const size_t megabytes : {20, 150, 400}) {
    EXPECT_EQ(in_child([&] {
                limit_to(megabytes << 20);
                const auto object = clang_toolchain()->compile(source(20), isa);
                if (opened_clang_plugin() != nullptr) return 1;
                std::ofstream(fmt::format("clang_memory_test.{}", megabytes), std::ios::binary)
                    .write(reinterpret_cast<const char*>(object.bytes.data()),
                           static_cast<std::streamsize>(object.bytes.size()));
                return 0;
              }),
              0)
        << megabytes;
  }
  const auto here = clang_toolchain()->compile(source(20), isa);
  EXPECT_NE(opened_clang_plugin(), nullptr);
  for (const int megabytes : {20, 150, 400}) {
    const auto name = fmt::format("clang_memory_test.{}", megabytes);
    std::ifstream file(name, std::ios::binary);
    const std::vector<uint8_t> bytes((std::istreambuf_iterator<char>(file)), {});
    EXPECT_EQ(bytes, here.bytes);
    std::filesystem::remove(name);
  }
}

TEST_F(ClangMemory, ErrorsOfAnotherProcessAreThoseOfThisOne) {
  const auto message = [](bool limited) {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    EXPECT_EQ(in_child([&] {
                if (limited) limit_to(size_t{50} << 20);
                try {
                  clang_toolchain()->compile("int f(void) { return nothing; }\n", Isa::Baseline);
                } catch (const Error& error) {
                  const std::string text = error.what();
                  return ::write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0
                                                                                                         : 1;
                }
                return 2;
              }),
              0);
    ::close(ends[1]);
    std::string text(65536, ' ');
    text.resize(::read(ends[0], text.data(), text.size()));
    ::close(ends[0]);
    return text;
  };
  EXPECT_EQ(message(true), message(false));
}

TEST_F(ClangMemory, LlvmWithoutMemoryIsNoEndOfTheProcess) {
  ASSERT_EQ(clang_unavailable(), "");
  clang_toolchain()->compile(source(3), Isa::Baseline);
  const auto text = source(20000);
  const std::vector<const char*> arguments = {"-triple", "x86_64-pc-linux-gnu", "-emit-obj", "-O0", "-x", "c",
                                              "kernel.c"};
  int made = 0, without_memory = 0;
  for (size_t kilobytes = 1024; kilobytes < 200'000; kilobytes *= 2) {
    const int status = in_child([&] {
      const antegrad_clang_request request = {text.data(),
                                              text.size(),
                                              arguments.data(),
                                              arguments.size(),
                                              nullptr,
                                              [](void*, const char*, size_t) {},
                                              [](void*, const char*, size_t) {}};
      grow_stack();
      limit_to(kilobytes << 10);
      return clang_plugin().compile(&request);
    });
    EXPECT_TRUE(status == kMade || status == kOutOfMemory) << status << " with " << kilobytes << " kB";
    ++(status == kMade ? made : without_memory);
  }
  EXPECT_GT(made, 0);
  EXPECT_GT(without_memory, 0);
}

TEST_F(ClangMemory, WithoutTheProgramThereIsAnError) {
  const auto old = clang_plugin_path();
  const auto folder = std::filesystem::temp_directory_path() / fmt::format("antegrad-plugin-{}", ::getpid());
  std::filesystem::create_directories(folder);
  std::filesystem::create_symlink(old, folder / "libantegrad_clang.so");
  EXPECT_EQ(in_child([&] {
              ::setenv("ANTEGRAD_CLANG_PLUGIN", (folder / "libantegrad_clang.so").c_str(), 1);
              limit_to(size_t{50} << 20);
              try {
                clang_toolchain()->compile(source(3), Isa::Baseline);
              } catch (const Error& error) {
                const std::string text = error.what();
                return error.code() == ErrorCode::Compile &&
                               text.find("too little memory for clang") != text.npos &&
                               text.find("ulimit -v") != text.npos
                           ? 0
                           : 1;
              }
              return 2;
            }),
            0);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace antegrad::toolchain
