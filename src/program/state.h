#pragma once
#include <ATen/core/Tensor.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "program/zip.h"

namespace antegrad::program {

/// A tensor of the file by its name in Python: "l1.weight".
struct StateEntry {
  at::Tensor tensor;
  bool parameter = false;
  std::string record;  ///< "data/weights/weight_0": the whole storage that it is in, in the file
  int64_t record_bytes = 0;
  /// The part of the record that it is.
  at::ScalarType dtype = at::kFloat;
  std::vector<int64_t> sizes, strides;
  int64_t offset = 0;
};
using State = std::map<std::string, StateEntry>;

/// Reads the tensors that `config` of `folder` lists. Names of one storage give tensors that share it, and
/// names of the same part of it one tensor. Throws Error(Parse), Error(UnsupportedTensor).
/// `storage_of` returns the contents of a record on the CPU; where it is unset, they are read from the file.
using StorageOf = std::function<at::Storage(const std::string& record)>;
void read_state(const ZipFile& file, const std::string& folder, const std::string& config, State& state,
                StorageOf storage_of = {});
/// Returns how many elements of a storage a tensor reaches over; nothing if that is no number of 64 bits.
std::optional<int64_t> extent(const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides,
                              int64_t offset);

}  // namespace antegrad::program
