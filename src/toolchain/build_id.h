#pragma once
#include <string>

namespace antegrad::toolchain {

/// Returns the build id that the linker gave to the library or program containing an address, as hex digits.
/// It identifies the contents. Empty when there is none.
std::string build_id_of(const void* address);
/// Returns the build id of a library file, without loading it. Empty when there is none.
std::string build_id_of_file(const std::string& path);

}  // namespace antegrad::toolchain
