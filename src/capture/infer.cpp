#include "capture/infer.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include "antegrad/error.h"
#include "aten/below_recording.h"
#include "aten/convert.h"
#include "aten/generators.h"
#include "capture/fake.h"
#include "capture/foreign_ops.h"
#include "capture/rules/rules.h"

namespace antegrad::capture {

using namespace aten;

namespace {

/// Restores the state of the default CPU generator when destroyed.
class KeepGenerator {
 public:
  KeepGenerator() : generator_(aten::default_generator()) {
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

/// Contents of the arguments on which a real kernel is run.
enum class Fill { Zeros, Ones };

at::Tensor filled_like_meta(const at::Tensor& meta, Fill fill) {
  if (!meta.defined()) return meta;
  const auto elements = static_cast<int64_t>(meta.storage().nbytes() / meta.element_size());
  const auto options = meta.options().device(c10::kCPU);
  return (fill == Fill::Zeros ? at::zeros({elements}, options) : at::ones({elements}, options))
      .as_strided(meta.sizes(), meta.strides(), meta.storage_offset());
}

/// Runs the real kernel on zeros or ones. A result that shares memory with an argument becomes a view of the
/// argument's twin.
void run_real_kernel(const OpSchema& schema, torch::jit::Stack& stack, Fill fill) {
  const std::vector<c10::IValue> metas(stack.begin(), stack.end());
  std::unordered_map<const void*, at::Tensor> twin_of_storage;
  std::unordered_map<const void*, at::Tensor> twin_of_tensor;
  auto to_real = [&](const at::Tensor& meta) {
    auto real = filled_like_meta(meta, fill);
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

[[noreturn]] void throw_data_dependent(const OpSchema& schema) {
  throw Error(ErrorCode::DataDependentShape, "capture:" + schema.name,
              "the size of its result depends on the data of its arguments",
              "Use a form of fixed size (where, masked_fill, a bound plus a mask), or call it outside the "
              "function");
}

bool of_one_type(const c10::IValue& a, const c10::IValue& b) {
  const auto same = [](const at::Tensor& x, const at::Tensor& y) {
    return x.defined() == y.defined() &&
           (!x.defined() || (x.sizes() == y.sizes() && x.strides() == y.strides() && x.dtype() == y.dtype()));
  };
  if (a.isTensor() && b.isTensor()) return same(a.toTensor(), b.toTensor());
  if (!a.isTensorList() || !b.isTensorList()) return true;
  const auto x = a.toTensorVector();
  const auto y = b.toTensorVector();
  return std::equal(x.begin(), x.end(), y.begin(), y.end(), same);
}

/// Runs the real kernel on zeros and on ones, to see what depends on contents. An error with the same message
/// in both runs is due to types and sizes, as in eager. Any other error on zeros, or results of different
/// types, are due to contents, which the arguments do not have here.
void infer_by_real_kernel(const OpSchema& schema, torch::jit::Stack& stack) {
  torch::jit::Stack ones(stack.begin(), stack.end());
  std::string text;
  std::exception_ptr refused;
  try {
    run_real_kernel(schema, stack, Fill::Zeros);
  } catch (const c10::Error& error) {
    text = first_line(error);
    refused = std::current_exception();
  }
  std::string other;
  try {
    run_real_kernel(schema, ones, Fill::Ones);
  } catch (const c10::Error& error) {
    other = first_line(error);
    if (refused && other == text) std::rethrow_exception(refused);
  }
  if (refused)
    throw Error(
        ErrorCode::DataRead, "capture:" + schema.name,
        "it looks at the data of its arguments, which have none while a function is captured: " + text,
        "Call it outside the function, or set Options::unsupported to Eager");
  if (other.empty() && !std::equal(stack.begin(), stack.end(), ones.begin(), ones.end(), of_one_type))
    throw_data_dependent(schema);
}

/// Runs a rule. Throws Error(UnsupportedOp) when the rule calls an op that cannot run on meta tensors.
void infer_by_rule(const OpSchema& schema, ShapeRule rule, torch::jit::Stack& stack) {
  try {
    rule(stack);
  } catch (const c10::NotImplementedError& error) {
    const auto text = first_line(error);
    if (text.find("Meta") == std::string::npos) throw;  // eager has no kernel for these types either
    throw Error(ErrorCode::UnsupportedOp, "capture:" + schema.name,
                "the shape of its result is not known for these arguments: " + text,
                "Call it outside the function, or set Options::unsupported to Eager");
  }
}

/// Returns whether some index is a mask: it picks as many elements as it has ones.
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
    throw_data_dependent(schema);
  BelowRecording below;
  if (schema.foreign) return infer_foreign_results(schema, stack);
  if (auto rule = find_shape_rule(name)) {
    ++counts.rules;
    infer_by_rule(schema, rule, stack);
    return;
  }
  if (schema.has_meta_kernel) {
    const std::vector<c10::IValue> arguments(stack.begin(), stack.end());
    try {
      schema.handle.callBoxed(stack);
      ++counts.meta_kernels;
      return;
    } catch (const c10::Error&) {
      // A composite kernel calls an op without a meta kernel, or a meta kernel is stricter than the CPU's, or
      // the CPU kernel rejects the arguments, too, with its own message.
      stack.assign(arguments.begin(), arguments.end());
    }
  }
  ++counts.real_kernels[schema.name];
  infer_by_real_kernel(schema, stack);
}

}  // namespace antegrad::capture
