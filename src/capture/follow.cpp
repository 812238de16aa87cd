// The part of the recorder that leaves out what is as expected (expected.h).
#include <ATen/EmptyTensor.h>
#include <ATen/SequenceNumber.h>
#include <c10/core/GradMode.h>
#include <c10/core/InferenceMode.h>

#include "capture/recorder.h"
#include "capture/scope.h"

namespace antegrad::capture {

using namespace aten;

void Recorder::unfollow() {
  if (!follower_) return;
  auto nodes = follower_->left_out();
  graph_.nodes.insert(graph_.nodes.begin(), std::make_move_iterator(nodes.begin()),
                      std::make_move_iterator(nodes.end()));
  follower_.reset();
}

/// Whether an op that is called now has the place in autograd's graph, and in the program, that is expected.
bool Recorder::is_in_place(const ir::Node& expected) const {
  const auto sequence =
      c10::GradMode::is_enabled() ? static_cast<int64_t>(at::sequence_number::peek()) - first_sequence_ : -1;
  return expected.provenance.sequence == sequence && expected.provenance.scope == current_scope() &&
         backward == nullptr;
}

c10::intrusive_ptr<FakeTensor> Recorder::make_expected(ir::ValueId expected, c10::Storage storage) {
  auto type = follower_->type_of(expected);
  const auto value = graph_.add_value(std::move(type), follower_->base_of(expected));
  note_memory(storage, value);
  auto fake =
      c10::make_intrusive<FakeTensor>(std::move(storage), graph_.tensor_type(value), id_, value, fakes_);
  follower_->advance(graph_);
  return fake;
}

bool Recorder::follow(const OpSchema& schema, torch::jit::Stack& stack) {
  const auto* op = follower_->next_call(schema);
  if (op == nullptr || !is_in_place(*op->node)) return false;
  const auto result = op->node->outputs[0];
  const auto base = follower_->base_of(result);
  const auto count = schema.args.size();
  const c10::ArrayRef<c10::IValue> arguments(stack.data() + (stack.size() - count), count);
  const at::Tensor* owner = nullptr;  // of the memory of a view
  bool only_numbers = true;           // whose result may be a wrapped number, too
  size_t tensors = 0;
  const auto is_value = [&](const at::Tensor& tensor, ir::ValueId expected) {
    if (value_of(tensor) != expected) return false;
    ++tensors;
    only_numbers = only_numbers && tensor.unsafeGetTensorImpl()->is_wrapped_number();
    if (base.valid() && owner == nullptr && graph_.storage_of(expected) == base) owner = &tensor;
    return true;
  };
  if (!follower_->has_arguments(*op, arguments, is_value) || !follower_->has_values(graph_)) return false;
  if ((tensors > 0 && only_numbers) || (base.valid() && owner == nullptr) ||
      result.position() != graph_.values.size())
    return false;
  const auto size = [&](const ir::TensorType& type) -> size_t {
    return type.numel().constant() * ir::size_in_bytes(type.dtype);
  };
  c10::IValue made;
  if (owner != nullptr) {
    c10::InferenceMode inference(owner->is_inference());
    made = at::Tensor(make_expected(result, storage_for(*owner)));
  } else {
    made = at::Tensor(
        make_expected(result, make_fake_storage(size(follower_->type_of(result)), c10::Device(c10::kCPU))));
  }
  torch::jit::drop(stack, count);
  stack.push_back(std::move(made));
  return true;
}

c10::intrusive_ptr<FakeTensor> Recorder::follow_alias(const at::Tensor& tensor) {
  const auto* op = follower_->next_alias();
  if (op == nullptr || op->node->provenance != ir::Provenance() || backward != nullptr ||
      tensor.unsafeGetTensorImpl()->is_wrapped_number())
    return {};
  const auto source = value_of(tensor);
  const auto* expected = op->node->args[0].as<ir::ValueId>();
  if (expected == nullptr || *expected != source || !op->node->attrs.empty() ||
      !follower_->has_values(graph_))
    return {};
  const auto result = op->node->outputs[0];
  if (follower_->base_of(result) != graph_.storage_of(source) || result.position() != graph_.values.size())
    return {};
  c10::InferenceMode inference(tensor.is_inference());
  return make_expected(result, storage_for(tensor));
}

/// Makes the twin of a fake that was made without one. It shares memory with the twins of fakes that share
/// memory with the fake.
at::Tensor Recorder::make_twin(const FakeTensor& fake) {
  const auto* key = fake.storage().unsafeGetStorageImpl();
  auto twin = at::detail::empty_strided_meta({0}, {1}, c10::typeMetaToScalarType(fake.dtype()));
  auto known = twin_storages_.find(key);
  if (known == twin_storages_.end())
    for (const auto& outsider : outside_.all())
      if (outsider->fake_storage.unsafeGetStorageImpl() == key)
        known = twin_storages_.emplace(key, outsider->meta.storage()).first;
  if (known == twin_storages_.end()) {
    twin.storage().unsafeGetStorageImpl()->set_nbytes(fake.storage().nbytes());
    twin_storages_.emplace(key, twin.storage());
  } else {
    twin.unsafeGetTensorImpl()->set_storage_keep_dtype(known->second);
  }
  twin.unsafeGetTensorImpl()->set_sizes_and_strides(fake.sizes(), fake.strides(), fake.storage_offset());
  return twin;
}

}  // namespace antegrad::capture
