#pragma once
#include <string>

namespace antegrad::toolchain {

/// Where the plugin with clang is looked for: ANTEGRAD_CLANG_PLUGIN, else beside this code, else in the
/// library folder of the same installation. The file need not exist.
std::string clang_plugin_path();
/// The version of the clang in it; "" when it cannot be opened. Opens it.
std::string clang_plugin_version();

}  // namespace antegrad::toolchain
