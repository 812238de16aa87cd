#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "antegrad/error.h"

namespace antegrad::toolchain {

/// The name that generated sources have in diagnostics.
constexpr const char* kSourceName = "kernel.c";

/// The error for a source that a compiler rejects: diagnostics, the lines they name, the command, the whole
/// source.
Error compile_error(const std::string& toolchain, const std::vector<std::string>& command,
                    std::string_view diagnostics, std::string_view source);

}  // namespace antegrad::toolchain
