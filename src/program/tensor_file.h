#pragma once
#include <ATen/core/Tensor.h>

#include <map>
#include <string>

#include "program/zip.h"

// Files of tensors by name.
namespace antegrad::program {

using TensorsByName = std::map<std::string, at::Tensor>;

/// Reads a safetensors file. Throws Error(Parse).
TensorsByName read_safetensors(const ByteSource& source);
/// Throws Error(Io), Error(UnsupportedTensor).
void write_safetensors(const std::string& path, const TensorsByName& tensors);

/// Reads the tensors of a dictionary that torch.save() has written. Its pickle is taken apart, not run: only
/// what dictionaries of tensors consist of is understood, everything else is refused. Throws Error(Parse).
TensorsByName read_state_dict(const ByteSource& source);
/// Writes such a file. Throws Error(Io).
void write_state_dict(const std::string& path, const TensorsByName& tensors);
/// What torch.save() writes for the pair of a tuple of tensors and an empty dictionary: positional arguments
/// and keywords. Empty if a dtype has no storage type in Python.
std::string pickled_call(const std::vector<at::Tensor>& arguments);

}  // namespace antegrad::program
