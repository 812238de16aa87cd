#pragma once
#include <string>

namespace antegrad::toolchain {

/// The build id that the linker gave to the library or program that holds an address, as hex digits: another
/// one for other contents. Empty when it has none.
std::string build_id_of(const void* address);

}  // namespace antegrad::toolchain
