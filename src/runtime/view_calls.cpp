#include <algorithm>
#include <array>
#include <string_view>

#include "aten/convert.h"
#include "runtime/instructions.h"
#include "runtime/tensor_memory.h"

namespace antegrad::runtime {
namespace {

/// Ops that describe elements of a tensor anew: sizes, strides and offset of the result follow from those of
/// the argument.
constexpr std::array<std::string_view, 15> kViews = {
    "aten.alias",          "aten.detach",     "aten.diagonal",      "aten.expand",    "aten.permute",
    "aten._reshape_alias", "aten.select.int", "aten.slice.Tensor",  "aten.squeeze",   "aten.squeeze.dim",
    "aten.squeeze.dims",   "aten.t",          "aten.transpose.int", "aten.unsqueeze", "aten.view"};

/// Makes the tensor without the dispatcher, as long as the argument is as it was captured.
class ViewCall final : public Instruction {
 public:
  ViewCall(const ir::TensorType& from, const ir::TensorType& to, int32_t source, int32_t result,
           std::unique_ptr<Instruction> otherwise)
      : from_(from),
        to_(to),
        offset_(to.offset.constant() - from.offset.constant()),
        source_(source),
        result_(result),
        otherwise_(std::move(otherwise)) {}

  void run(Registers& registers) const override {
    const auto& source = registers[source_];
    const auto* impl = source.unsafeGetTensorImpl();
    constexpr c10::DispatchKeySet kLazy(
        {c10::DispatchKey::ZeroTensor, c10::DispatchKey::Conjugate, c10::DispatchKey::Negative});
    if (impl->sizes() != at::IntArrayRef(from_.sizes) || impl->strides() != at::IntArrayRef(from_.strides) ||
        impl->key_set().has_any(kLazy))
      return otherwise_->run(registers);
    auto view = at::detail::make_tensor<c10::TensorImpl>(c10::TensorImpl::VIEW, c10::Storage(impl->storage()),
                                                         impl->key_set(), impl->dtype());
    view.unsafeGetTensorImpl()->set_sizes_and_strides(to_.sizes, to_.strides,
                                                      impl->storage_offset() + offset_);
    registers[result_] = std::move(view);
  }

 private:
  const TensorShape from_, to_;
  const int64_t offset_;
  const int32_t source_, result_;
  const std::unique_ptr<Instruction> otherwise_;
};

}  // namespace

std::unique_ptr<Instruction> make_view_call(const ir::Node& node, const ir::Graph& graph,
                                            const RegisterMap& register_of,
                                            std::unique_ptr<Instruction> otherwise) {
  const auto* source = node.args.empty() ? nullptr : node.args[0].as<ir::ValueId>();
  if (source == nullptr || node.outputs.size() != 1 || std::ranges::find(kViews, node.op) == kViews.end())
    return otherwise;
  const auto *from = graph.type_of(*source).tensor(), *to = graph.type_of(node.outputs[0]).tensor();
  const auto is_known = [](const ir::TensorType* type) {
    const auto is_constant = [](const ir::Dim& dim) { return dim.is_constant(); };
    return type != nullptr && !ir::is_complex(type->dtype) && type->offset.is_constant() &&
           std::ranges::all_of(type->sizes, is_constant) && std::ranges::all_of(type->strides, is_constant);
  };
  if (!is_known(from) || !is_known(to) || from->dtype != to->dtype ||
      graph.storage_of(*source) != graph.storage_of(node.outputs[0]))
    return otherwise;
  return std::make_unique<ViewCall>(*from, *to, register_of[*source], register_of[node.outputs[0]],
                                    std::move(otherwise));
}

}  // namespace antegrad::runtime
