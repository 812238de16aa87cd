#pragma once
#include <map>
#include <string>
#include <vector>

#include "package/archive.h"

namespace antegrad::packaging {

/// Collects the tensors that packaged functions have captured: each is one weight.
class WeightTable {
 public:
  explicit WeightTable(NamedTensors names);
  /// Returns the number of a weight. `name` is used where the tensor has none in the table.
  int32_t add(const at::Tensor& tensor, const NamedTensors& names, const std::string& name);
  const NamedTensors& weights() const { return weights_; }

 private:
  NamedTensors names_, weights_;
  std::map<const c10::TensorImpl*, int32_t> numbers_;
};

/// Adds the weights to the manifest and, unless they are external, their storages to the records, in the
/// form of an archive of torch.export.
void add_weights(const NamedTensors& weights, Manifest& manifest,
                 std::map<std::string, RecordToWrite>& records);
/// Returns the weights of the archive over its mapped memory, in the order of the manifest; undefined tensors
/// for external ones. Throws Error(Io).
std::vector<at::Tensor> map_weights(const Archive& archive);
/// Throws Error(InvalidArgument) unless the tensor is of the weight's type.
void check_weight(const WeightInfo& weight, const at::Tensor& tensor);

}  // namespace antegrad::packaging
