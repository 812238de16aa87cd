#include "capture/recorder.h"

#include <ATen/EmptyTensor.h>
#include <ATen/SequenceNumber.h>
#include <c10/core/DefaultDtype.h>
#include <c10/core/GradMode.h>
#include <c10/core/InferenceMode.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/function.h>

#include <algorithm>
#include <atomic>

#include "aten/below_recording.h"
#include "aten/convert.h"
#include "aten/generators.h"
#include "capture/assumption.h"
#include "capture/default_dtype.h"
#include "capture/foreign_ops.h"
#include "capture/gradients.h"
#include "capture/mode.h"
#include "capture/recording_lock.h"
#include "capture/rules/rules.h"
#include "capture/scope.h"

namespace antegrad::capture {

using namespace aten;

namespace {

std::atomic<uint64_t> next_capture_id{1};

c10::Device device_or_cpu(const c10::IValue& value) {
  return value.isDevice() ? value.toDevice() : c10::Device(c10::kCPU);
}

bool same_metadata(const at::Tensor& tensor, const at::Tensor& meta) {
  return tensor.sizes() == meta.sizes() && tensor.strides() == meta.strides() &&
         tensor.storage_offset() == meta.storage_offset() && tensor.dtype() == meta.dtype();
}

}  // namespace

bool answers_host(const OpSchema& schema) {
  return !schema.returns.empty() && schema.returns[0] != ArgKind::Tensor &&
         schema.returns[0] != ArgKind::TensorList && schema.name != "aten.is_same_size";
}

void for_each_written(const OpSchema& schema, c10::ArrayRef<c10::IValue> arguments,
                      c10::function_ref<void(const at::Tensor&)> visit) {
  if (!schema.writes || (schema.writes_if >= 0 && !arguments[schema.writes_if].toBool())) return;
  const auto visit_defined = [&](const at::Tensor& tensor) {
    if (tensor.defined()) visit(tensor);
  };
  for (size_t i = 0; i < schema.args.size(); ++i) {
    if (!schema.args[i].written) continue;
    if (arguments[i].isTensor()) visit_defined(arguments[i].toTensor());
    if (arguments[i].isTensorList())
      for (const at::Tensor& tensor : arguments[i].toTensorVector()) visit_defined(tensor);
  }
}

/// Throws what eager throws for a view that exceeds its memory, which shape rules do not see.
static void check_in_bounds(const at::Tensor& view, const c10::Storage& storage) {
  const auto bytes =
      at::detail::computeStorageNbytes(view.sizes(), view.strides(), view.itemsize(), view.storage_offset());
  TORCH_CHECK(view.numel() == 0 || bytes <= storage.nbytes(), "setStorage: sizes ", view.sizes(),
              ", strides ", view.strides(), ", storage offset ", view.storage_offset(), ", and itemsize ",
              view.itemsize(), " requiring a storage size of ", bytes,
              " are out of bounds for storage of size ", storage.nbytes());
}

/// An op being recorded: its arguments as the caller gave them, and as the shape rules see them.
struct Recorder::Call {
  std::vector<c10::IValue> arguments;
  std::vector<c10::IValue> stack;  ///< twins in, results out
  struct TensorArgument {
    at::Tensor tensor;
    const c10::TensorImpl* twin;
    const c10::StorageImpl* twin_storage;
  };
  c10::SmallVector<TensorArgument, 4> tensors;
  std::optional<c10::Device> device;
};

Recorder::Recorder()
    : id_(next_capture_id++),
      first_sequence_(static_cast<int64_t>(at::sequence_number::peek())),
      default_dtype_(c10::get_default_dtype_as_scalartype()) {}

bool Recorder::threw(const std::exception& error) const {
  if (!last_error) return false;
  try {
    std::rethrow_exception(last_error);
  } catch (const Error& last) {
    return std::string_view(error.what()).find(last.what()) != std::string_view::npos;
  }
}

at::Tensor Recorder::add_input(const at::Tensor& real, std::string name) {
  if (auto* fake = as_fake(real)) {
    throw Error(
        ErrorCode::ForeignFake, "capture",
        fmt::format("argument '{}' was made during capture {} and has no contents", name, fake->capture_id()),
        "Do not keep tensors of a captured function beyond its call");
  }
  check_capturable(real, "capture");
  auto type = type_of(real, real.device());
  auto meta = make_meta(type);
  if (real.is_conj()) meta.unsafeGetTensorImpl()->_set_conj(true);
  if (real.is_neg()) meta.unsafeGetTensorImpl()->_set_neg(true);
  if (real.unsafeGetTensorImpl()->is_wrapped_number()) meta.unsafeGetTensorImpl()->set_wrapped_number(true);
  auto value = graph_.add_input(std::move(type), ir::InputRole::UserInput, std::move(name));
  c10::InferenceMode inference(
      real.is_inference());  // a fake is an inference tensor when made under inference mode
  at::Tensor fake(make_fake(std::move(meta), real.device(), value,
                            make_fake_storage(real.storage().nbytes(), real.device())));
  copy_autograd_state(real, fake);
  if (real.is_leaf() && real.grad().defined()) fake.mutable_grad() = real.grad();  // lifted when it is read
  return fake;
}

at::Tensor Recorder::add_tangent(const at::Tensor& like) {
  BelowRecording below;
  auto type = type_of(like, like.device());
  if (!like.is_non_overlapping_and_dense()) type = ir::contiguous_tensor(type.dtype, type.sizes, type.device);
  type.offset = 0;
  auto meta = make_meta(type);
  const auto bytes = meta.storage().nbytes();
  const auto value = graph_.add_value(std::move(type));
  return at::Tensor(
      make_fake(std::move(meta), like.device(), value, make_fake_storage(bytes, like.device())));
}

c10::intrusive_ptr<FakeTensor> Recorder::make_fake(at::Tensor meta, c10::Device device, ir::ValueId value,
                                                   c10::Storage storage) {
  note_memory(storage, value);
  if (follower_) twin_storages_.try_emplace(storage.unsafeGetStorageImpl(), meta.storage());
  return c10::make_intrusive<FakeTensor>(std::move(storage), std::move(meta), device, id_, value, fakes_);
}

void Recorder::note_memory(const c10::Storage& storage, ir::ValueId value) {
  memory_.try_emplace(storage.unsafeGetStorageImpl(),
                      Memory{storage.getWeakStorageImpl(), graph_.storage_of(value)});
}

at::Tensor Recorder::twin_of(const at::Tensor& tensor) {
  if (auto* fake = as_fake(tensor)) {
    if (fake->capture_id() != id_)
      throw Error(ErrorCode::ForeignFake, "capture",
                  fmt::format("a tensor of capture {} is used in capture {}", fake->capture_id(), id_),
                  "Return tensors from the captured function instead of keeping them in outer variables");
    if (!cut_.empty()) check_uncut(*fake);
    if (!fake->meta().defined()) fake->set_meta(make_twin(*fake));
    return fake->meta();
  }
  auto* known = outside_.find(tensor);
  if (known == nullptr) {
    known = &outside_.add(tensor, graph_);
    known->late = backward != nullptr;
  }
  return known->meta;
}

void Recorder::check_uncut(const FakeTensor& fake) const {
  for (const auto& [first, last] : cut_)
    if (fake.value().index >= first && fake.value().index < last)
      throw Error(ErrorCode::UnsupportedOp, "capture:region",
                  "a tensor that was made inside a region is used outside of it",
                  "Return it from the body of the region");
}

ir::ValueId Recorder::value_of(const at::Tensor& tensor) {
  auto* fake = as_fake(tensor);
  if (fake == nullptr || fake->capture_id() != id_) twin_of(tensor);  // a real tensor becomes known
  if (fake != nullptr) {
    if (!cut_.empty()) check_uncut(*fake);
    check_undecorated(tensor, "capture");
    host_memory_.on_read(tensor.storage());
    if (outside_.has_borrowed())
      if (const auto* owner = outside_.find(graph_.storage_of(fake->value())))
        outside_.check_unchanged(*owner);
    return fake->value();
  }
  auto* outsider = outside_.find(tensor);
  outside_.check_unchanged(*outsider);
  return outsider->value;
}

c10::Storage Recorder::storage_for(const at::Tensor& tensor) {
  auto* outsider = as_fake(tensor) ? nullptr : outside_.find(tensor);
  return outsider != nullptr ? outsider->fake_storage : tensor.storage();
}

c10::intrusive_ptr<FakeTensor> Recorder::add_alias(const at::Tensor& tensor) {
  const RecordingLock lock;
  determinants_.watch();
  if (follower_)
    if (auto alias = follow_alias(tensor)) return alias;
  BelowRecording below;
  auto twin = twin_of(tensor);
  at::Tensor meta(twin.unsafeGetTensorImpl()->shallow_copy_and_detach(c10::VariableVersion(0), true));
  const auto source = value_of(tensor);
  ir::Node node;
  node.op = "antegrad.alias";
  node.args = {ir::Arg(source)};
  const auto value = graph_.add_value(graph_.type_of(source), graph_.storage_of(source));
  node.outputs = {value};
  note_backward(node);
  graph_.add_node(std::move(node));
  if (follower_ && !follower_->take_recorded(graph_)) unfollow();
  c10::InferenceMode inference(tensor.is_inference());
  return make_fake(std::move(meta), tensor.device(), value, storage_for(tensor));
}

std::vector<at::Tensor> Recorder::add_own(ir::Node node, const std::vector<ir::TensorType>& results) {
  const RecordingLock lock;
  determinants_.watch();
  const BelowRecording below;
  std::vector<at::Tensor> tensors;
  for (const auto& type : results) {
    auto meta = make_meta(type);
    const auto device = to_torch(type.device);
    const auto bytes = meta.storage().nbytes();
    const auto value = graph_.add_value(type);
    node.outputs.push_back(value);
    tensors.emplace_back(make_fake(std::move(meta), device, value, make_fake_storage(bytes, device)));
  }
  if (c10::GradMode::is_enabled())
    node.provenance.sequence = static_cast<int64_t>(at::sequence_number::peek()) - first_sequence_;
  node.provenance.scope = current_scope();
  note_backward(node);
  graph_.add_node(std::move(node));
  return tensors;
}

c10::intrusive_ptr<FakeTensor> Recorder::alias_of(const FakeTensor& fake, bool is_result) {
  auto* recorder = active_recorder();
  // Takes a reference, which `tensor` releases.
  at::Tensor tensor(
      c10::intrusive_ptr<c10::TensorImpl>::unsafe_reclaim_from_nonowning(const_cast<FakeTensor*>(&fake)));
  if (recorder != nullptr && recorder->id_ == fake.capture_id()) {
    auto alias = recorder->add_alias(tensor);
    if (is_result && (recorder->tape != nullptr || recorder->bodies > 0))
      recorder->graph_.nodes.back().attrs.push_back({kResultAlias, true});
    return alias;
  }
  BelowRecording below;
  const auto twin = fake.meta().defined() ? fake.meta() : make_meta(type_of(tensor, fake.device()));
  at::Tensor meta(twin.unsafeGetTensorImpl()->shallow_copy_and_detach(c10::VariableVersion(0), true));
  return c10::make_intrusive<FakeTensor>(fake.storage(), std::move(meta), fake.device(), fake.capture_id(),
                                         fake.value(), fake.registry());
}

void Recorder::note_argument(const at::Tensor& tensor, const at::Tensor& twin, Call& call) {
  call.tensors.push_back({tensor, twin.unsafeGetTensorImpl(), twin.storage().unsafeGetStorageImpl()});
  // A 0-dim CPU tensor may be mixed into ops on another device; the first other tensor decides.
  if (!call.device || (call.device->is_cpu() && tensor.dim() > 0)) call.device = tensor.device();
}

c10::IValue Recorder::with_twins(const c10::IValue& value, Call& call) {
  auto twin = [&](const at::Tensor& tensor) {
    if (!tensor.defined()) return tensor;
    auto meta = twin_of(tensor);
    note_argument(tensor, meta, call);
    return meta;
  };
  return map_tensors(value, twin);
}

/// Replaces a generator among the arguments by the tensor that stands for it, and returns that tensor. A
/// default generator is left out: ops draw from it anyway. Leaves a generator that a graph cannot draw from.
at::Tensor Recorder::take_generator(const OpSchema& schema, Call& call) {
  for (size_t i = 0; i < schema.args.size(); ++i) {
    auto& argument = call.arguments[i];
    if (schema.args[i].kind != ArgKind::Generator || !argument.isGenerator()) continue;
    const auto generator = argument.toGenerator();
    if (is_default(generator)) {
      argument = c10::IValue();
    } else if (tape == nullptr && backward == nullptr && has_known_state(generator)) {
      auto stand_in = generators_.meet(generator);
      argument = stand_in;
      return stand_in;
    }
  }
  return {};
}

void Recorder::infer(const OpSchema& schema, Call& call) {
  call.stack.reserve(call.arguments.size());
  for (size_t i = 0; i < call.arguments.size(); ++i)
    call.stack.push_back(schema.args[i].kind == ArgKind::Generator ? c10::IValue()
                                                                   : with_twins(call.arguments[i], call));
  if (schema.device_arg >= 0) {
    auto& device = call.stack[schema.device_arg];
    // Without a device argument, *_like and new_* follow their tensor, and factories use the CPU.
    if (device.isDevice() || call.tensors.empty()) call.device = device_or_cpu(device);
    if (device.isDevice() || call.tensors.empty()) device = c10::Device(c10::kMeta);
  }
  if (!call.device) call.device = c10::Device(c10::kCPU);
  if (!call.device->is_cuda() || !infer_by_cuda_rule(schema.handle.operator_name(), call.stack))
    infer_results(schema, call.stack, counts_);
}

at::Tensor Recorder::take_changed_argument(const at::Tensor& argument, const at::Tensor& meta, Call& call,
                                           ir::Node& node) {
  auto* fake = as_fake(argument);
  if (fake == nullptr)
    throw Error(ErrorCode::UnsupportedOp, "capture:" + node.op,
                "it changes the shape or the storage of a tensor that was made outside the function",
                "Pass the tensor as an argument, or make the change outside");
  auto base = graph_.storage_of(fake->value());
  const auto* now = meta.storage().unsafeGetStorageImpl();
  const bool moved = std::ranges::any_of(call.tensors, [&](const auto& own) {  // by set_
    return own.twin == meta.unsafeGetTensorImpl() && own.twin_storage != now;
  });
  // Then it is as if it had been made like this: views of it lead to a tensor of the shape that it has now.
  const bool is_new = !moved && call.tensors.size() == 1 && is_rearranged_alone(*fake, meta);
  if (!is_new && base != fake->value()) reshaped_.insert(base);
  auto storage = argument.storage();
  if (moved || is_new) {
    base = {};
    storage = make_fake_storage(meta.storage().nbytes(), argument.device());
  }
  for (const auto& other : call.tensors)
    if (other.twin != meta.unsafeGetTensorImpl() &&
        other.twin_storage == meta.storage().unsafeGetStorageImpl()) {
      base = graph_.storage_of(value_of(other.tensor));
      storage = storage_for(other.tensor);
    }
  const auto value = graph_.add_value(type_of(meta, argument.device()), base);
  node.outputs.push_back(value);
  note_memory(storage, value);
  if (follower_) twin_storages_.try_emplace(storage.unsafeGetStorageImpl(), meta.storage());
  fake->rebind(value, std::move(storage), is_new);
  return argument;
}

at::Tensor Recorder::take_result(const at::Tensor& meta, Call& call, ir::Node& node) {
  if (!meta.defined()) {
    node.outputs.push_back(graph_.add_value(ir::ScalarKind::None));
    return meta;
  }
  if (meta.layout() != c10::kStrided || !meta.has_storage())
    throw Error(ErrorCode::UnsupportedTensor, "capture:" + node.op, "its result is not a dense tensor",
                "Keep sparse, nested and opaque tensors outside the compiled function");
  const auto* storage_impl = meta.storage().unsafeGetStorageImpl();
  for (const auto& argument : call.tensors) {
    if (argument.twin_storage != storage_impl) continue;
    if (node.op == "aten.as_strided") check_in_bounds(meta, storage_for(argument.tensor));
    const auto base = graph_.storage_of(value_of(argument.tensor));
    const auto value = graph_.add_value(type_of(meta, argument.tensor.device()), base);
    node.outputs.push_back(value);
    c10::InferenceMode inference(argument.tensor.is_inference());  // a view is one if its base is
    return at::Tensor(make_fake(meta, argument.tensor.device(), value, storage_for(argument.tensor)));
  }
  const auto device = *call.device;
  const auto value = graph_.add_value(type_of(meta, device));
  node.outputs.push_back(value);
  const auto bytes = meta.storage().nbytes();
  const auto nodes = graph_.nodes.size() + (follower_ ? follower_->nodes() : 0);
  const bool fillable = tape == nullptr && node.op == "aten.empty.memory_format" && device.is_cpu() &&
                        bytes <= HostMemory::kMaxBytes && meta.is_contiguous();
  auto storage = fillable ? host_memory_.allocate(bytes, device, nodes) : make_fake_storage(bytes, device);
  return at::Tensor(make_fake(meta, device, value, std::move(storage)));
}

void Recorder::take_results(const OpSchema& schema, Call& call, ir::Node& node) {
  auto take = [&](const at::Tensor& meta, int written_argument) -> at::Tensor {
    if (written_argument >= 0 && meta.defined())
      for (const auto& argument : call.tensors)
        if (argument.twin == meta.unsafeGetTensorImpl()) {
          if (schema.inplace_view || !same_metadata(argument.tensor, meta))
            return take_changed_argument(argument.tensor, meta, call, node);
          return argument.tensor;
        }
    return take_result(meta, call, node);
  };
  bool has_list = false;
  std::vector<int32_t> returns;
  for (size_t i = 0; i < call.stack.size(); ++i) {
    auto& result = call.stack[i];
    const auto before = node.outputs.size();
    if (result.isTensor()) {
      result = take(result.toTensor(), schema.return_is_arg[i]);
      if (node.outputs.size() > before) returns.push_back(-1);
    } else if (result.isTensorList()) {
      has_list = true;
      c10::List<at::Tensor> list;
      for (const at::Tensor& meta : result.toTensorVector())
        list.push_back(take(meta, schema.return_is_arg[i]));
      result = std::move(list);
      if (schema.return_is_arg[i] < 0) returns.push_back(static_cast<int32_t>(node.outputs.size() - before));
    }
  }
  if (has_list) node.returns = std::move(returns);
}

bool Recorder::read_host_data(const OpSchema& schema, torch::jit::Stack* stack) {
  if (schema.name != "aten._local_scalar_dense") return false;
  const auto& tensor = stack->back().toTensor();
  auto* fake = as_fake(tensor);
  const void* data = fake != nullptr ? host_memory_.data_of(tensor.storage()) : nullptr;
  if (data == nullptr) return false;
  BelowRecording below;
  auto storage = c10::Storage(c10::Storage::use_byte_size_t(), tensor.storage().nbytes(),
                              c10::DataPtr(const_cast<void*>(data), c10::kCPU), nullptr, false);
  auto real = at::detail::make_tensor<c10::TensorImpl>(
      std::move(storage), c10::DispatchKeySet(c10::DispatchKey::CPU), tensor.dtype());
  real.unsafeGetTensorImpl()->set_sizes_and_strides(at::IntArrayRef{}, at::IntArrayRef{},
                                                    tensor.storage_offset());
  stack->back() = real;
  schema.handle.callBoxed(stack);
  return true;
}

void Recorder::note_writes(const OpSchema& schema, const Call& call, ir::Node& node) {
  for_each_written(schema, call.arguments, [&](const at::Tensor& tensor) {
    node.effects.writes.push_back(value_of(tensor));
    if (auto* outsider = outside_.find(graph_.storage_of(value_of(tensor))))
      outsider->written = true;
    else if (as_fake(tensor))
      host_memory_.on_write(tensor.storage());
  });
}

void Recorder::bump_versions(const OpSchema& schema, const Call& call) {
  if (!schema.bumps_below) return;
  for_each_written(schema, call.arguments, [](const at::Tensor& tensor) {
    auto* impl = tensor.unsafeGetTensorImpl();
    if (!impl->is_inference()) impl->bump_version();
  });
}

void Recorder::note_backward(ir::Node& node) const {
  if (backward == nullptr) return;
  node.provenance.backward = true;
  node.provenance.roots = backward->bits(torch::autograd::get_current_node().get());
}

void Recorder::record(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const RecordingLock lock;
  determinants_.watch();
  const auto& schema = schema_of(op);
  if (follower_ && follow(schema, *stack)) return;
  check_recordable(schema);
  if (tape == nullptr) {
    if (schema.name == "aten.equal") {
      unfollow();
      if (answer_equal(*this, *stack)) return;
    }
    if (read_host_data(schema, stack)) return;
  }
  Call call;
  call.arguments.assign(stack->end() - static_cast<std::ptrdiff_t>(schema.args.size()), stack->end());
  if (answers_host(schema))
    throw Error(
        ErrorCode::DataRead, "capture:" + schema.name, "the function reads the data of a tensor on the host",
        "Compute with tensors (where, masked_fill) instead of item(), pass the number as an argument, or set "
        "Options::unsupported to Eager");
  const auto generator = take_generator(schema, call);
  ir::Node node;
  node.op = schema.name;
  // Before the shape rule runs: a rule that changes a twin in place must not change the recorded arguments.
  set_arguments(node, schema, call.arguments, [&](const at::Tensor& t) { return value_of(t); });
  note_writes(schema, call, node);
  if (generator.defined()) {
    node.effects.writes.push_back(value_of(generator));
    outside_.find(generator)->written = true;
  }
  infer(schema, call);
  take_results(schema, call, node);
  if (schema.inplace_view && !schema.random) node.effects.writes.clear();  // metadata, not memory
  node.effects.random = schema.random && !generator.defined();
  const auto resource = resource_of(schema, call.arguments);
  node.effects.ordered = (schema.returns.empty() && node.effects.writes.empty()) || resource;
  if (resource) node.effects.resource = *resource;
  if (c10::GradMode::is_enabled())
    node.provenance.sequence = static_cast<int64_t>(at::sequence_number::peek()) - first_sequence_;
  node.provenance.scope = current_scope();
  note_backward(node);
  make_default_dtype_explicit(schema, call.arguments, default_dtype_, graph_, node);
  graph_.add_node(std::move(node));
  if (follower_ && !follower_->take_recorded(graph_)) unfollow();
  bump_versions(schema, call);
  if (schema.name == "aten._linalg_det") determinants_.note(call.stack[0].toTensor());
  torch::jit::drop(*stack, schema.args.size());
  for (auto& result : call.stack) stack->push_back(std::move(result));
}

}  // namespace antegrad::capture
