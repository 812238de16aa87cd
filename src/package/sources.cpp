#include "package/sources.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <vector>

#include "antegrad/error.h"
#include "compiler/cache/kernel_name.h"
#include "package/record.h"
#include "package/refuse.h"
#include "toolchain/exact_flags.h"

namespace antegrad::packaging {
namespace {

std::string symbol_of(const cache::Digest& kernel) {
  return compiler::kKernelFunction + ("_" + kernel.hex());
}

/// The texts of all kernels, and per pass, which ones it has.
struct Texts {
  std::map<cache::Digest, std::string> kernels;
  std::string passes;
};

Texts texts_of(const Archive& archive) {
  Texts out;
  for (const auto& [record, digest] : archive.manifest().records) {
    if (!record.ends_with(".code")) continue;
    const auto code = reading_file([&, &name = record] { return read_code(archive.read(name)); });
    for (size_t k = 0; k < code.kernels.size(); ++k) {
      auto text = compiler::kernel_text(code.program.kernels[k]);
      if (cache::sha256(text) != code.kernels[k])
        throw Error(
            ErrorCode::InvalidArgument, "package:sources",
            fmt::format("this antegrad prints the kernels of \"{}\" differently than antegrad {} (build "
                        "{}), which has made it",
                        archive.path(), archive.manifest().info.antegrad,
                        archive.manifest().info.build.substr(0, 12)),
            "Use that antegrad, or make the package again");
      out.passes += fmt::format("{} {}.c\n", record, code.kernels[k].hex());
      out.kernels.emplace(code.kernels[k], std::move(text));
    }
  }
  return out;
}

void write_text(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file)
    throw Error(ErrorCode::Io, "package:sources", fmt::format("\"{}\" cannot be written", path.string()),
                "Name a folder that can be written to");
}

constexpr const char* kBuildFile =
    R"(# Builds the kernels of a package of antegrad (docs/packages.md) for this machine:
#   cmake -S . -B build && cmake --build build
# makes build/libkernels.so, for PackageLoad::kernel_library.
cmake_minimum_required(VERSION 3.16)
project(antegrad_kernels C)
if(NOT CMAKE_C_COMPILER_ID MATCHES "GNU|Clang")
  message(FATAL_ERROR "the kernels are C for GCC and clang")
endif()
set(ANTEGRAD_ARCH native CACHE STRING "the processor to build for, as -march names it")
file(GLOB kernels ${CMAKE_CURRENT_SOURCE_DIR}/kernels/*.c)
add_library(kernels MODULE ${kernels})
# Results are those of the package with these flags only: floating point stays exact.
target_compile_options(kernels PRIVATE -march=${ANTEGRAD_ARCH}
)";

}  // namespace

void write_sources(const Archive& archive, const std::string& folder) {
  const auto texts = texts_of(archive);
  if (texts.kernels.empty())
    throw Error(ErrorCode::InvalidArgument, "package:sources",
                fmt::format("\"{}\" has no kernels: LibTorch runs every op", archive.path()),
                "Use the package as it is, on any machine");
  const std::filesystem::path path(folder);
  std::error_code failed;
  std::filesystem::create_directories(path / "kernels", failed);
  for (const auto& [digest, text] : texts.kernels)
    write_text(path / "kernels" / (digest.hex() + ".c"),
               fmt::format("#define {} {}\n{}", compiler::kKernelFunction, symbol_of(digest), text));
  write_text(path / "passes.txt", texts.passes);
  write_text(path / "CMakeLists.txt", fmt::format("{}  {})\ntarget_link_libraries(kernels PRIVATE m)\n",
                                                  kBuildFile, fmt::join(toolchain::exact_flags(), " ")));
}

KernelLibrary::KernelLibrary(std::string path) : path_(std::move(path)) {
  // A name without a slash would be searched for among the libraries of the system.
  const auto file = std::filesystem::absolute(path_).string();
  auto* handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr)
    throw Error(ErrorCode::Io, "package:load", fmt::format("\"{}\" cannot be opened: {}", path_, ::dlerror()),
                "Build it of what `antegrad package sources` has written");
  handle_ = std::shared_ptr<void>(handle, ::dlclose);
}

void* KernelLibrary::find(const cache::Digest& kernel) const {
  return ::dlsym(handle_.get(), symbol_of(kernel).c_str());
}

compiler::LoadedKernel KernelLibrary::kernel(const cache::Digest& kernel) const {
  compiler::LoadedKernel out;
  out.reference.key = kernel;
  out.code = {reinterpret_cast<runtime::KernelFunction>(find(kernel)), handle_, nullptr};
  return out;
}

}  // namespace antegrad::packaging
