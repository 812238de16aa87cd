#include "capture/infer.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include "antegrad/error.h"
#include "capture/convert.h"
#include "capture/foreign_ops.h"
#include "capture/guards.h"
#include "capture/rules/rules.h"

namespace antegrad::capture {
namespace {

/// Runs a kernel without moving the state of the default CPU generator.
class KeepGenerator {
 public:
  KeepGenerator() : generator_(at::detail::getDefaultCPUGenerator()) {
    std::scoped_lock lock(generator_.mutex());
    saved_ = generator_.get_state();
  }
  ~KeepGenerator() {
    std::scoped_lock lock(generator_.mutex());
    generator_.set_state(saved_);
  }
  KeepGenerator(const KeepGenerator&) = delete;
  KeepGenerator& operator=(const KeepGenerator&) = delete;

 private:
  at::Generator generator_;
  at::Tensor saved_;
};

at::Tensor zeros_like_meta(const at::Tensor& meta) {
  if (!meta.defined()) return meta;
  const auto elements = static_cast<int64_t>(meta.storage().nbytes() / meta.element_size());
  return at::zeros({elements}, meta.options().device(c10::kCPU))
      .as_strided(meta.sizes(), meta.strides(), meta.storage_offset());
}

/// The real kernel on zeros. Results that share memory with an argument are given as views of the argument's
/// twin.
void run_real_kernel(const OpSchema& schema, torch::jit::Stack& stack) {
  const std::vector<c10::IValue> metas(stack.begin(), stack.end());
  std::unordered_map<const void*, at::Tensor> twin_of_storage;
  std::unordered_map<const void*, at::Tensor> twin_of_tensor;
  auto to_real = [&](const at::Tensor& meta) {
    auto real = zeros_like_meta(meta);
    if (real.defined()) {
      twin_of_storage[real.storage().unsafeGetStorageImpl()] = meta;
      twin_of_tensor[real.unsafeGetTensorImpl()] = meta;
    }
    return real;
  };
  auto to_meta = [&](const at::Tensor& real) {
    if (!real.defined()) return real;
    if (real.layout() != c10::kStrided || !real.has_storage())
      throw Error(ErrorCode::UnsupportedTensor, "capture:" + schema.name, "its result is not a dense tensor",
                  "Keep sparse, nested and opaque tensors outside the compiled function");
    if (auto same = twin_of_tensor.find(real.unsafeGetTensorImpl()); same != twin_of_tensor.end())
      return same->second;
    if (auto base = twin_of_storage.find(real.storage().unsafeGetStorageImpl());
        base != twin_of_storage.end())
      return base->second.as_strided(real.sizes(), real.strides(), real.storage_offset());
    return at::empty_strided(real.sizes(), real.strides(), real.options().device(c10::kMeta));
  };
  KeepGenerator keep;
  for (auto& value : stack)
    value = value.isDevice() ? c10::IValue(c10::Device(c10::kCPU)) : map_tensors(value, to_real);
  schema.handle.callBoxed(stack);
  for (auto& value : stack) value = map_tensors(value, to_meta);
}

}  // namespace

namespace {

/// Indexing with a mask picks as many elements as the mask has ones.
bool indexes_by_mask(const OpSchema& schema, const torch::jit::Stack& stack) {
  if (schema.name != "aten.index.Tensor" && schema.name != "aten._unsafe_index.Tensor") return false;
  for (const auto& index : stack[1].toOptionalTensorVector())
    if (index && index->defined() &&
        (index->scalar_type() == c10::kBool || index->scalar_type() == c10::kByte))
      return true;
  return false;
}

}  // namespace

void infer_results(const OpSchema& schema, torch::jit::Stack& stack, InferenceCounts& counts) {
  const auto& name = schema.handle.operator_name();
  if (has_data_dependent_shape(name) || indexes_by_mask(schema, stack) ||
      (schema.foreign && schema.handle.hasTag(at::Tag::dynamic_output_shape)))
    throw Error(ErrorCode::DataDependentShape, "capture:" + schema.name,
                "the size of its result depends on the data of its arguments",
                "Use a form of fixed size (where, masked_fill, a bound plus a mask), or call it outside the "
                "function");
  BelowRecording below;
  if (schema.foreign) return infer_foreign_results(schema, stack);
  if (auto rule = find_shape_rule(name)) {
    ++counts.rules;
    rule(stack);
    return;
  }
  if (schema.has_meta_kernel) {
    const std::vector<c10::IValue> arguments(stack.begin(), stack.end());
    try {
      schema.handle.callBoxed(stack);
      ++counts.meta_kernels;
      return;
    } catch (const c10::Error&) {
      // A composite kernel that calls an op without a meta kernel; a meta kernel that is stricter than the
      // CPU's; or arguments that the CPU kernel rejects, too, in its own words.
      stack.assign(arguments.begin(), arguments.end());
    }
  }
  ++counts.real_kernels[schema.name];
  run_real_kernel(schema, stack);
}

}  // namespace antegrad::capture
