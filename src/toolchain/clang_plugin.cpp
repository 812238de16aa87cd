#include "toolchain/clang_plugin.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <mutex>

#include "util/process_end.h"

#ifndef ANTEGRAD_CLANG_PLUGIN_PATH
#define ANTEGRAD_CLANG_PLUGIN_PATH ""
#endif
#ifndef ANTEGRAD_LIBRARY_FOLDER
#define ANTEGRAD_LIBRARY_FOLDER "lib"
#endif

namespace antegrad::toolchain {
namespace {

constexpr const char* kPluginFile = "libantegrad_clang.so";

/// Returns the folder of the library or program that contains this code.
std::filesystem::path own_folder() {
  Dl_info info;
  if (!dladdr(reinterpret_cast<const void*>(&own_folder), &info) || !info.dli_fname) return {};
  std::error_code ignored;
  return std::filesystem::canonical(info.dli_fname, ignored).parent_path();
}

std::filesystem::path plugin_path() {
  if (const char* given = std::getenv("ANTEGRAD_CLANG_PLUGIN")) return given;
  std::error_code ignored;
  const auto folder = own_folder();
  const auto beside = folder / kPluginFile;
  if (std::filesystem::exists(beside, ignored)) return beside;
  // Programs of an installation are in its bin and libexec/antegrad folders.
  for (const auto* prefix : {"..", "../.."}) {
    auto path = (folder / prefix / ANTEGRAD_LIBRARY_FOLDER / kPluginFile).lexically_normal();
    if (std::filesystem::exists(path, ignored)) return path;
  }
  if (std::filesystem::exists(ANTEGRAD_CLANG_PLUGIN_PATH, ignored)) return ANTEGRAD_CLANG_PLUGIN_PATH;
  return beside;
}

ClangPlugin open_plugin() {
  const auto path = plugin_path();
  void* handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
  if (!handle) return {nullptr, dlerror(), {}};
  const auto compile = reinterpret_cast<antegrad_clang_compile_function>(dlsym(handle, kPluginCompile));
  if (!compile)
    return {
        nullptr, fmt::format("{} has no {}; it is not of this antegrad", path.string(), kPluginCompile), {}};
  const auto version = reinterpret_cast<antegrad_clang_version_function>(dlsym(handle, kPluginVersion));
  return {compile, {}, version ? version() : ""};
}

std::atomic<const ClangPlugin*> opened = nullptr;

}  // namespace

const ClangPlugin& clang_plugin() {
  if (const auto* plugin = opened.load()) return *plugin;
  // exit() waits for this section: it would destroy LLVM objects that are being constructed. A child forked
  // meanwhile does not get here.
  const process_end::Section section(process_end::Work::OpeningLlvm);
  static auto& mutex = *new std::mutex;
  const std::scoped_lock lock(mutex);
  if (opened == nullptr) {
    opened = new ClangPlugin(open_plugin());
    process_end::outlive_statics();
  }
  return *opened.load();
}

const ClangPlugin* opened_clang_plugin() { return opened; }

std::string clang_plugin_path() { return plugin_path(); }

std::string clang_plugin_version() { return clang_plugin().version; }

}  // namespace antegrad::toolchain
