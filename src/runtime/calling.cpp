#include "runtime/calling.h"

#include <ATen/MemoryOverlap.h>

#include "antegrad/error.h"
#include "capture/convert.h"
#include "capture/guards.h"
#include "capture/op_schema.h"

namespace antegrad::runtime {
namespace {

/// A view op with everything but its tensor filled in.
struct PreparedView {
  const capture::OpSchema* schema = nullptr;  ///< null: antegrad.strided
  std::vector<c10::IValue> stack;
  std::vector<int64_t> sizes, strides;
  int64_t offset = 0;
  int32_t output = 0;
};

PreparedView prepare(const aot::ViewStep& step) {
  PreparedView view;
  view.output = step.output;
  if (step.node.op == "antegrad.strided") {
    for (const auto& a : *step.node.args[1].as<ir::Arg::List>()) view.sizes.push_back(a.as<ir::Dim>()->constant());
    for (const auto& a : *step.node.args[2].as<ir::Arg::List>()) view.strides.push_back(a.as<ir::Dim>()->constant());
    view.offset = step.node.args[3].as<ir::Dim>()->constant();
    return view;
  }
  view.schema = capture::find_schema(step.node.op);
  if (view.schema == nullptr)
    throw Error(ErrorCode::Internal, "run:" + step.node.op, "the view op of an output does not exist");
  view.stack = capture::boxed_arguments(step.node, *view.schema, [](ir::ValueId) { return at::Tensor(); });
  return view;
}

at::Tensor apply(const PreparedView& view, const at::Tensor& tensor) {
  if (view.schema == nullptr) return tensor.as_strided(view.sizes, view.strides, tensor.storage_offset() + view.offset);
  auto stack = view.stack;
  stack[0] = tensor;
  view.schema->handle.callBoxed(stack);
  return stack[0].isTensor() ? stack[0].toTensor() : stack[0].toTensorVector()[static_cast<size_t>(view.output)];
}

/// Copies contents into memory that may overlap itself (an expanded tensor), where copy_ refuses.
void copy_memory(const at::Tensor& to, const at::Tensor& from) {
  if (to.is_non_overlapping_and_dense() || at::has_internal_overlap(to) == at::MemOverlap::No) {
    to.copy_(from);
    return;
  }
  int64_t elements = 1;
  for (int64_t d = 0; d < to.dim(); ++d) elements += (to.size(d) - 1) * to.stride(d);
  if (to.numel() == 0) return;
  to.as_strided({elements}, {1}).copy_(from.as_strided({elements}, {1}));
}

}  // namespace

struct Caller::Prepared {
  std::vector<PreparedView> views;
};

struct Caller::State {
  c10::SmallVector<at::Tensor, 12> slots;
  std::vector<at::Tensor> results;
  std::vector<at::Tensor> outputs;
  /// Inputs that become other views, applied together at the end: their recipes name the inputs as they came.
  std::vector<std::pair<int32_t, at::Tensor>> moved;
};

Caller::~Caller() = default;

Caller::Caller(aot::Signature signature, std::shared_ptr<const Executable> executable)
    : signature_(std::move(signature)), executable_(std::move(executable)) {
  plain_ = signature_.slots == signature_.inputs;
  int32_t expected_output = 0;
  for (int32_t i = 0; i < static_cast<int32_t>(signature_.graph_inputs.size()); ++i)
    plain_ &= signature_.graph_inputs[static_cast<size_t>(i)] == i;
  for (const auto& step : signature_.steps) {
    Prepared prepared;
    const aot::Recipe* recipe = nullptr;
    if (const auto* output = std::get_if<aot::MakeOutput>(&step)) {
      recipe = &output->recipe;
      plain_ &= recipe->kind == aot::Recipe::Kind::Result && recipe->views.empty() && recipe->index == expected_output &&
                output->version == 0 && !output->requires_grad;
      ++expected_output;
    } else {
      plain_ &= std::holds_alternative<aot::RunGraph>(step);
    }
    if (const auto* set = std::get_if<aot::SetInput>(&step)) recipe = &set->recipe;
    if (recipe != nullptr)
      for (const auto& view : recipe->views) prepared.views.push_back(prepare(view));
    prepared_.push_back(std::move(prepared));
  }
}

at::Tensor Caller::make(const aot::Recipe& recipe, const Prepared& prepared, State& state) const {
  at::Tensor tensor;
  const auto index = static_cast<size_t>(recipe.index);
  switch (recipe.kind) {
    case aot::Recipe::Kind::Undefined: return tensor;
    case aot::Recipe::Kind::Result: tensor = state.results[index]; break;
    case aot::Recipe::Kind::Input: tensor = state.slots[index]; break;
    case aot::Recipe::Kind::Output: tensor = state.outputs[index]; break;
  }
  for (const auto& view : prepared.views) tensor = apply(view, tensor);
  return tensor;
}

void Caller::run(const aot::Step& step, const Prepared& prepared, State& state) const {
  auto slot = [&](int32_t i) -> at::Tensor& { return state.slots[static_cast<size_t>(i)]; };
  if (const auto* s = std::get_if<aot::MakeBase>(&step)) {
    capture::BelowRecording below;
    const auto& first = slot(s->members[0]);
    slot(s->slot) = first.as_strided({s->elements}, {1}, first.storage_offset() - s->offset);
  } else if (std::holds_alternative<aot::RunGraph>(step)) {
    c10::SmallVector<at::Tensor, 12> inputs;
    for (auto i : signature_.graph_inputs) inputs.push_back(slot(i));
    executable_->run(inputs, state.results);
  } else if (const auto* s = std::get_if<aot::ResizeInput>(&step)) {
    capture::BelowRecording below;
    slot(s->input).resize_(s->sizes);
  } else if (const auto* s = std::get_if<aot::WriteBack>(&step)) {
    capture::BelowRecording below;
    copy_memory(slot(s->slot), state.results[static_cast<size_t>(s->result)]);
  } else if (const auto* s = std::get_if<aot::MakeOutput>(&step)) {
    auto tensor = make(s->recipe, prepared, state);
    if (s->version > 0) {
      auto counter = tensor.unsafeGetTensorImpl()->version_counter();
      if (counter.enabled() && counter.current_version() < s->version) counter.set_version(s->version);
    }
    if (s->requires_grad && !tensor.requires_grad()) tensor.set_requires_grad(true);
    state.outputs.push_back(std::move(tensor));
  } else if (const auto* s = std::get_if<aot::SetInput>(&step)) {
    capture::BelowRecording below;
    state.moved.emplace_back(s->input, make(s->recipe, prepared, state).alias());
  } else if (const auto* s = std::get_if<aot::BumpVersion>(&step)) {
    auto* impl = slot(s->input).unsafeGetTensorImpl();
    for (uint32_t i = 0; i < s->by; ++i) impl->bump_version();
  } else if (const auto* s = std::get_if<aot::RequireGrad>(&step)) {
    slot(s->input).set_requires_grad(s->value);
  }
}

std::vector<at::Tensor> Caller::call(c10::ArrayRef<at::Tensor> inputs) const {
  if (plain_) {
    std::vector<at::Tensor> outputs;
    executable_->run(inputs, outputs);
    return outputs;
  }
  State state;
  state.slots.append(inputs.begin(), inputs.end());
  state.slots.resize(static_cast<size_t>(signature_.slots));
  for (size_t i = 0; i < signature_.steps.size(); ++i) run(signature_.steps[i], prepared_[i], state);
  for (const auto& [input, source] : state.moved) {
    auto* impl = state.slots[static_cast<size_t>(input)].unsafeGetTensorImpl();
    impl->set_storage_keep_dtype(source.storage());
    impl->set_sizes_and_strides(source.sizes(), source.strides(), source.storage_offset());
  }
  return std::move(state.outputs);
}

}  // namespace antegrad::runtime
