// antegrad-clang PLUGIN ARGUMENT...: compiles the C file on standard input to an object on standard output,
// with diagnostics on standard error. Exit status 1 means that clang rejects the file, 3 that there is no
// plugin or no memory.
#include <dlfcn.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>

#include "toolchain/plugin_api.h"

namespace {

constexpr int kRejected = 1, kNoMemory = 3;

bool write_all(int file, const char* bytes, std::size_t size) {
  while (size > 0) {
    const auto count = ::write(file, bytes, size);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes += count;
    size -= static_cast<std::size_t>(count);
  }
  return true;
}

std::string read_all(int file) {
  std::string text;
  char buffer[65536];
  for (;;) {
    const auto count = ::read(file, buffer, sizeof(buffer));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return text;
    text.append(buffer, static_cast<std::size_t>(count));
  }
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 3) return kNoMemory;
  void* plugin = ::dlopen(argv[1], RTLD_LAZY | RTLD_LOCAL);
  if (plugin == nullptr) {
    std::fprintf(stderr, "%s", ::dlerror());
    return kNoMemory;
  }
  const auto compile =
      reinterpret_cast<antegrad_clang_compile_function>(::dlsym(plugin, antegrad::toolchain::kPluginCompile));
  if (compile == nullptr) return kNoMemory;
  const auto source = read_all(STDIN_FILENO);
  bool written = true;
  const antegrad_clang_request request = {
      source.data(),
      source.size(),
      argv + 2,
      static_cast<std::size_t>(argc - 2),
      &written,
      [](void* context, const char* bytes, std::size_t size) {
        *static_cast<bool*>(context) = write_all(STDOUT_FILENO, bytes, size);
      },
      [](void*, const char* text, std::size_t size) { write_all(STDERR_FILENO, text, size); }};
  const int made = compile(&request);
  // LLVM's destructors take time and achieve nothing.
  ::_exit(made == antegrad::toolchain::kMade
              ? (written ? 0 : kNoMemory)
              : (made == antegrad::toolchain::kRejected ? kRejected : kNoMemory));
} catch (...) {
  return kNoMemory;
}
