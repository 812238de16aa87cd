#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace antegrad::toolchain {

/// The program that holds clang where this process has no room for it, or cannot use it: beside the plugin,
/// else in the libexec folder of its installation. The file need not exist.
std::string clang_program_path();

struct ClangRun {
  std::vector<uint8_t> object;  ///< empty: it made none
  std::string diagnostics;
};
/// Compiles as the plugin does, in another process. Throws Error(Compile) when that cannot be started, or was
/// ended.
ClangRun run_clang_program(const std::vector<std::string>& arguments, const std::string& source);

}  // namespace antegrad::toolchain
