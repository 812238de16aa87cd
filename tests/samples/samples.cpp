#include "samples/samples.h"

#include <ATen/ATen.h>
#include <ATen/core/enum_tag.h>

#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "samples/rows.h"
#include "samples/table.h"

namespace antegrad::samples {
namespace {

/// Clones IValues: each storage and each tensor once.
class Cloner {
 public:
  c10::IValue clone(const c10::IValue& value) {
    if (value.isTensor()) return clone(value.toTensor());
    if (!value.isList()) return value;
    const auto list = value.toList();
    c10::impl::GenericList copy(list.elementType());
    for (const c10::IValue& item : list) copy.push_back(clone(item));
    return copy;
  }

 private:
  at::Tensor clone(const at::Tensor& tensor) {
    if (!tensor.defined()) return tensor;
    at::Tensor& copy = tensors_[tensor.unsafeGetTensorImpl()];
    if (copy.defined()) return copy;
    at::Tensor bytes = storage_bytes(tensor);
    copy = at::empty({0}, tensor.options());
    copy.set_(bytes.storage(), tensor.storage_offset(), tensor.sizes(), tensor.strides());
    if (tensor.is_conj()) copy._set_conj(true);
    if (tensor.is_neg()) copy._set_neg(true);
    return copy;
  }

  at::Tensor storage_bytes(const at::Tensor& tensor) {
    at::Tensor& bytes = storages_[tensor.storage().unsafeGetStorageImpl()];
    if (bytes.defined()) return bytes;
    const auto size = static_cast<int64_t>(tensor.storage().nbytes());
    at::Tensor original = at::empty({0}, tensor.options().dtype(at::kByte));
    original.set_(tensor.storage(), 0, {size}, {1});
    bytes = original.clone();
    return bytes;
  }

  std::unordered_map<const c10::TensorImpl*, at::Tensor> tensors_;
  std::unordered_map<const c10::StorageImpl*, at::Tensor> storages_;
};

/// Returns "add" for "aten::add_.Tensor".
std::string base_name(const std::string& op) {
  std::string base = op.substr(0, op.find('.'));
  base = base.substr(base.find("::") + 2);
  if (base.ends_with('_')) base.pop_back();
  return base;
}

}  // namespace

std::vector<Sample> make(uint64_t seed) {
  at::NoGradGuard no_grad;
  std::vector<Sample> samples;
  for (std::string_view table :
       {kPointwiseTable, kSpecialTable, kReductionsTable, kViewsTable, kShapingTable, kMatmulTable,
        kLinalgTable, kIndexingTable, kActivationsTable, kLossesTable, kNnTable, kResampleTable,
        kFactoriesTable, kInplaceTable, kForeachTable, kRandomTable}) {
    read_table(table, seed, samples);
  }
  derive_inplace(samples);
  derive_out(samples);
  return samples;
}

c10::Stack clone_args(const Sample& sample) {
  at::NoGradGuard no_grad;
  Cloner cloner;
  c10::Stack stack;
  stack.reserve(sample.args.size());
  for (const auto& arg : sample.args) stack.push_back(cloner.clone(arg));
  return stack;
}

c10::Stack call(const std::string& op, const c10::Stack& args) {
  at::NoGradGuard no_grad;
  c10::Stack stack = args;
  find_overload(op).callBoxed(stack);
  return stack;
}

bool is_random(const std::string& op) {
  // The CPU flash kernel refuses dropout, so it is deterministic in spite of its tag.
  if (base_name(op) == "_scaled_dot_product_flash_attention_for_cpu") return false;
  return find_overload(op).hasTag(at::Tag::nondeterministic_seeded);
}

bool is_uninitialized(const std::string& op) {
  static const std::unordered_set<std::string> kNames = {
      "empty",     "empty_strided",     "empty_like", "empty_permuted", "empty_quantized",
      "new_empty", "new_empty_strided", "resize",     "resize_as",
  };
  return kNames.contains(base_name(op));
}

}  // namespace antegrad::samples
