#pragma once
#include <string_view>

namespace antegrad::toolchain {

/// Returns the address of a C library function that generated code may call, or null for any other name.
const void* runtime_symbol(std::string_view name);

}  // namespace antegrad::toolchain
