#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace antegrad::toolchain {

/// Returns the path of the program that runs clang when this process has too little memory for it or cannot
/// use it: beside the plugin, else in the libexec folder of its installation. The file need not exist.
std::string clang_program_path();

struct ClangRun {
  std::vector<uint8_t> object;  ///< empty when clang rejected the source
  std::string diagnostics;
};
/// Compiles like the plugin, but in another process. Throws Error(Compile) when the process cannot be started
/// or fails.
ClangRun run_clang_program(const std::vector<std::string>& arguments, const std::string& source);

}  // namespace antegrad::toolchain
