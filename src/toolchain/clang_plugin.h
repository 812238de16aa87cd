#pragma once
#include <string>

#include "toolchain/plugin_api.h"

namespace antegrad::toolchain {

/// Where the plugin with clang is looked for: ANTEGRAD_CLANG_PLUGIN, else beside this code, else in the
/// library folder of the same installation. The file need not exist.
std::string clang_plugin_path();
/// The version of the clang in it; "" when it cannot be opened. Opens it.
std::string clang_plugin_version();

/// The opened plugin, or why there is none. Never closed: LLVM leaves threads and handlers that point into
/// it.
struct ClangPlugin {
  antegrad_clang_compile_function compile = nullptr;
  std::string problem;
  std::string version;
};
/// Opens it by the first call. Throws process_end::Ending.
const ClangPlugin& clang_plugin();
/// Null: it was not opened so far.
const ClangPlugin* opened_clang_plugin();

}  // namespace antegrad::toolchain
