#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "antegrad/error.h"

namespace antegrad::toolchain {

/// The file name of generated sources in diagnostics.
constexpr const char* kSourceName = "kernel.c";

/// Returns the error for a source that a compiler rejects, with the diagnostics, the lines they refer to, the
/// command and the whole source.
Error compile_error(const std::string& toolchain, const std::vector<std::string>& command,
                    std::string_view diagnostics, std::string_view source);

}  // namespace antegrad::toolchain
