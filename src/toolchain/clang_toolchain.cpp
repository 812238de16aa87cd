#include <dlfcn.h>
#include <fmt/format.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>

#include "toolchain/clang_plugin.h"
#include "toolchain/compile_error.h"
#include "toolchain/elf_file.h"
#include "toolchain/plugin_api.h"
#include "toolchain/toolchain.h"

#ifndef ANTEGRAD_CLANG_VERSION
#define ANTEGRAD_CLANG_VERSION "19"
#endif
#ifndef ANTEGRAD_CLANG_PLUGIN_PATH
#define ANTEGRAD_CLANG_PLUGIN_PATH ""
#endif
#ifndef ANTEGRAD_LIBRARY_FOLDER
#define ANTEGRAD_LIBRARY_FOLDER "lib"
#endif

namespace antegrad::toolchain {
namespace {

constexpr const char* kPluginFile = "libantegrad_clang.so";

/// Where the library or the program that holds this code lies.
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
  // The programs of an installation are in its bin and libexec/antegrad.
  for (const auto* prefix : {"..", "../.."}) {
    auto path = (folder / prefix / ANTEGRAD_LIBRARY_FOLDER / kPluginFile).lexically_normal();
    if (std::filesystem::exists(path, ignored)) return path;
  }
  if (std::filesystem::exists(ANTEGRAD_CLANG_PLUGIN_PATH, ignored)) return ANTEGRAD_CLANG_PLUGIN_PATH;
  return beside;
}

/// The opened plugin, or why there is none. Never closed: LLVM leaves threads and handlers that point into
/// it.
struct Plugin {
  antegrad_clang_compile_function compile = nullptr;
  std::string problem;
  std::string version;
};

Plugin open_plugin() {
  const auto path = plugin_path();
  void* handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (!handle) return {nullptr, dlerror(), {}};
  const auto compile = reinterpret_cast<antegrad_clang_compile_function>(dlsym(handle, kPluginCompile));
  if (!compile)
    return {
        nullptr, fmt::format("{} has no {}; it is not of this antegrad", path.string(), kPluginCompile), {}};
  const auto version = reinterpret_cast<antegrad_clang_version_function>(dlsym(handle, kPluginVersion));
  return {compile, {}, version ? version() : ""};
}

std::atomic<bool> plugin_known = false;  ///< whether plugin() was called

const Plugin& plugin() {
  static const Plugin opened = open_plugin();
  plugin_known = true;
  return opened;
}

/// Measured on pointwise and row kernels: vectorising straight-line code (-vectorize-slp) costs a few percent
/// of the time and changes none of them; -O2 makes the same code in the same time. Two thirds of the time go
/// into making machine code, so less code (sizes that are constants, no remainders) is what compiles faster.
std::vector<std::string> arguments_for(Isa isa) {
  std::vector<std::string> arguments = {"-triple",
                                        "x86_64-pc-linux-gnu",
                                        "-target-cpu",
                                        std::string(isa_cpu(isa)),
                                        "-emit-obj",
                                        "-O3",
                                        "-vectorize-loops",
                                        "-mrelocation-model",
                                        "pic",
                                        "-pic-level",
                                        "2",
                                        "-ffp-contract=off",
                                        "-fwrapv",
                                        "-fopenmp-simd",
                                        "-std=gnu11",
                                        "-fgnuc-version=4.2.1",
                                        "-nostdsysteminc",
                                        "-nobuiltininc",
                                        "-discard-value-names",
                                        "-w"};
  if (isa == Isa::Avx512) arguments.push_back("-mprefer-vector-width=512");
  for (const char* argument : {"-x", "c", kSourceName}) arguments.push_back(argument);
  return arguments;
}

struct Result {
  std::vector<uint8_t> object;
  std::string diagnostics;
};

class ClangToolchain final : public Toolchain {
 public:
  std::string name() const override { return "clang-" ANTEGRAD_CLANG_VERSION; }

  Object compile(const std::string& source, Isa isa) const override {
    if (!plugin().compile) {
      throw Error(ErrorCode::Compile, "toolchain", "clang cannot be opened: " + plugin().problem,
                  "Install clang 19's libraries (libclang-cpp19), name the plugin in ANTEGRAD_CLANG_PLUGIN, "
                  "or use the "
                  "system compiler");
    }
    const auto arguments = arguments_for(isa);
    std::vector<const char*> pointers;
    for (const auto& argument : arguments) pointers.push_back(argument.c_str());
    Result result;
    const antegrad_clang_request request = {source.data(),
                                            source.size(),
                                            pointers.data(),
                                            pointers.size(),
                                            &result,
                                            [](void* context, const char* bytes, size_t size) {
                                              static_cast<Result*>(context)->object.assign(bytes,
                                                                                           bytes + size);
                                            },
                                            [](void* context, const char* text, size_t size) {
                                              static_cast<Result*>(context)->diagnostics.assign(text, size);
                                            }};
    if (!plugin().compile(&request)) throw failure(arguments, result.diagnostics, source);
    auto symbols = defined_functions(result.object);
    return {std::move(result.object), std::move(symbols)};
  }

 private:
  Error failure(std::vector<std::string> arguments, const std::string& diagnostics,
                const std::string& source) const {
    arguments.insert(arguments.begin(), {"clang", "-cc1"});
    return compile_error(name(), arguments, diagnostics, source);
  }
};

}  // namespace

ToolchainPtr clang_toolchain() {
  static const ToolchainPtr toolchain = std::make_shared<ClangToolchain>();
  return toolchain;
}

std::string clang_unavailable() { return plugin().problem; }

std::string clang_plugin_path() { return plugin_path(); }

std::string clang_plugin_version() { return plugin().version; }

std::string default_toolchain_name() {
  std::error_code ignored;
  if (plugin_known ? clang_unavailable().empty() : std::filesystem::exists(plugin_path(), ignored))
    return clang_toolchain()->name();
  return system_toolchain()->name();
}

ToolchainPtr default_toolchain() {
  return clang_unavailable().empty() ? clang_toolchain() : system_toolchain();
}

}  // namespace antegrad::toolchain
