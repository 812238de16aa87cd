#pragma once
#include <string>
#include <vector>

namespace antegrad::toolchain {

/// The flags with which every C compiler makes the same of the text of kernels, for any processor.
std::vector<std::string> exact_flags();

}  // namespace antegrad::toolchain
