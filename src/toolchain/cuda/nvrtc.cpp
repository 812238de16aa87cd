#include "toolchain/cuda/nvrtc.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "toolchain/build_id.h"
#include "toolchain/cuda/library.h"
#include "util/process_end.h"

namespace antegrad::toolchain::cuda {
namespace {

constexpr std::array kNames = {"libnvrtc.so.13", "libnvrtc.so.12"};

/// Paths of libraries that this process has loaded.
struct LoadedLibraries {
  std::string nvrtc;
  std::filesystem::path libtorch_folder;
};

int visit(dl_phdr_info* module, size_t, void* context) {
  auto& out = *static_cast<LoadedLibraries*>(context);
  const std::filesystem::path path = module->dlpi_name;
  const auto name = path.filename().string();
  for (const auto* known : kNames)
    if (name == known) out.nvrtc = path;
  if (name == "libtorch_cpu.so") out.libtorch_folder = path.parent_path();
  return 0;
}

LoadedLibraries loaded_libraries() {
  LoadedLibraries out;
  dl_iterate_phdr(visit, &out);
  return out;
}

/// The folders of wheels that LibTorch's wheel depends on are beside its own.
std::vector<std::filesystem::path> folders(const std::filesystem::path& libtorch) {
  std::vector<std::filesystem::path> out;
  if (!libtorch.empty()) {
    const auto packages = libtorch / ".." / "..";
    out = {libtorch, packages / "nvidia/cu13/lib", packages / "nvidia/cuda_nvrtc/lib"};
  }
  for (const auto* variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* home = std::getenv(variable)) out.push_back(std::filesystem::path(home) / "lib64");
  out.emplace_back("/usr/local/cuda/lib64");
  return out;
}

Nvrtc open_nvrtc() {
  Nvrtc out;
  const auto path = nvrtc_path();
  void* handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) out.problem = dlerror();
  if (handle == nullptr && path == kNames.front()) handle = dlopen(kNames.back(), RTLD_LAZY | RTLD_LOCAL);
  if (handle == nullptr) return out;
  Symbols symbols(handle, path);
  int (*version)(int*, int*) = nullptr;
  symbols.find(version, "nvrtcVersion");
  symbols.find(out.error_string, "nvrtcGetErrorString");
  symbols.find(out.create, "nvrtcCreateProgram");
  symbols.find(out.destroy, "nvrtcDestroyProgram");
  symbols.find(out.compile, "nvrtcCompileProgram");
  symbols.find(out.log_size, "nvrtcGetProgramLogSize");
  symbols.find(out.log, "nvrtcGetProgramLog");
  symbols.find(out.cubin_size, "nvrtcGetCUBINSize");
  symbols.find(out.cubin, "nvrtcGetCUBIN");
  out.problem = symbols.problem();
  if (out.problem.empty()) version(&out.major, &out.minor);
  return out;
}

}  // namespace

std::string nvrtc_path() {
  if (const char* given = std::getenv("ANTEGRAD_NVRTC")) return given;
  const auto loaded = loaded_libraries();
  if (!loaded.nvrtc.empty()) return loaded.nvrtc;
  std::error_code ignored;
  for (const auto& folder : folders(loaded.libtorch_folder))
    for (const auto* name : kNames)
      if (const auto path = folder / name; std::filesystem::exists(path, ignored))
        return path.lexically_normal();
  return kNames.front();
}

const Nvrtc& nvrtc() {
  const process_end::Section section(process_end::Work::OpeningLlvm);  // NVRTC contains LLVM
  static const auto& opened = *new const Nvrtc(open_nvrtc());
  return opened;
}

std::string nvrtc_name() {
  if (const auto id = build_id_of_file(nvrtc_path()); !id.empty()) return "nvrtc-" + id.substr(0, 16);
  const auto& opened = nvrtc();
  return fmt::format("nvrtc-{}.{}", opened.major, opened.minor);
}

}  // namespace antegrad::toolchain::cuda
