#pragma once
#include <ATen/core/Tensor.h>

#include <map>
#include <string>

namespace antegrad::program {

/// Writes a .pt2 archive: records as they are, and storages as tensors of bytes on the CPU. Throws Error(Io).
void write_archive(const std::string& path, const std::map<std::string, std::string>& records,
                   const std::map<std::string, at::Tensor>& storages);

}  // namespace antegrad::program
