#pragma once
#include <string>

#include "toolchain/plugin_api.h"

namespace antegrad::toolchain {

/// Returns where the plugin with clang is looked for: ANTEGRAD_CLANG_PLUGIN, else beside this code, else in
/// the library folder of the same installation, else in the build folder. The file need not exist.
std::string clang_plugin_path();
/// Returns the version of clang in the plugin; "" when the plugin cannot be opened. Opens it.
std::string clang_plugin_version();

/// The opened plugin, or why it could not be opened. Never closed: LLVM leaves behind threads and handlers
/// that point into it.
struct ClangPlugin {
  antegrad_clang_compile_function compile = nullptr;
  std::string problem;
  std::string version;
};
/// Opens the plugin on the first call. Throws process_end::Ending.
const ClangPlugin& clang_plugin();
/// Returns null when the plugin has not been opened yet.
const ClangPlugin* opened_clang_plugin();

}  // namespace antegrad::toolchain
