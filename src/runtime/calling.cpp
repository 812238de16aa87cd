#include "runtime/calling.h"

#include <fmt/format.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <optional>

#include "antegrad/error.h"
#include "aten/below_recording.h"
#include "runtime/instructions.h"
#include "runtime/prepared_view.h"
#include "runtime/rng_state.h"
#include "util/overloaded.h"

namespace antegrad::runtime {
namespace {

/// Returns which slots are read by steps after the run of the graph.
std::vector<bool> slots_after_run(const aot::Signature& signature) {
  std::vector<bool> needed(signature.slots);
  const auto need = [&](int32_t slot) { needed[slot] = true; };
  const auto need_source = [&](const aot::Source& source) {
    if (source.kind == aot::Source::Kind::Input) need(source.index);
  };
  const Overloaded read{
      [](const aot::MakeBase&) {},  // before the run
      [](const aot::TakeRngState&) {},
      [](const aot::RunGraph&) {},
      [&](const aot::Attach& s) { need_source(s.source); },
      [](const aot::SetVersion&) {},
      [](const aot::SaveForBackward&) {},  // only with a backward pass, where slots are not released early
      [&](const aot::ResizeInput& s) { need(s.input); },
      [&](const aot::WriteBack& s) {
        need(s.slot);
        for (auto i : s.members) need(i);
      },
      [&](const aot::MakeView& s) { need_source(s.source); },
      [&](const aot::MakeOutput& s) { need_source(s.source); },
      [&](const aot::SetTensor& s) {
        need_source(s.tensor);
        need_source(s.source);
      },
      [&](const aot::BumpVersion& s) { need(s.input); },
      [&](const aot::RequireGrad& s) { need(s.input); },
      [](const aot::TakeGenerators&) {},
      [&](const aot::SetGenerator& s) { need(s.input); },
      [&](const aot::RetainGrad& s) { need_source(s.source); },
  };
  for (const auto& step : signature.steps) std::visit(read, step);
  return needed;
}

}  // namespace

struct Caller::Prepared {
  PreparedView view;
};

struct Caller::State {
  c10::SmallVector<at::Tensor, 12> slots;
  std::vector<at::Tensor> results;
  std::vector<at::Tensor> views;
  std::vector<at::Tensor> outputs;
  std::shared_ptr<CompiledBackward> node;                  ///< null when nothing is differentiable
  std::vector<std::pair<at::Tensor, at::Tensor>> changes;  ///< SetTensor: the tensor, and its new view
  bool consumes = false;                                   ///< slots may be released early
  EarlyTaker* early = nullptr;                             ///< null: all results are returned
  std::optional<TakenGenerators> generators;
  std::optional<Registers> unfinished;  ///< of a run whose last part writes to inputs, see Executable
};

Caller::~Caller() = default;

Caller::Caller(aot::Signature signature, std::shared_ptr<const Executable> executable,
               std::shared_ptr<const Backward> backward, std::vector<at::Tensor> constants)
    : signature_(std::move(signature)),
      executable_(std::move(executable)),
      backward_(std::move(backward)),
      constants_(std::move(constants)) {
  plain_ = signature_.slots == signature_.inputs && constants_.empty();
  fates_.resize(signature_.slots);
  for (auto i : signature_.written)
    fates_[i] = i < signature_.user_inputs ? InputEffect::Written : InputEffect::Lost;
  for (int32_t i = 0; i < static_cast<int32_t>(signature_.graph_inputs.size()); ++i)
    plain_ &= signature_.graph_inputs[i] == i;
  prepare_steps();
  slot_outlives_run_ = slots_after_run(signature_);
}

void Caller::prepare_steps() {
  int32_t expected_output = 0;
  Prepared prepared;
  const auto more = [this](const auto&) { plain_ = false; };  // for steps that do more than run the graph
  const Overloaded look{
      [&](const aot::MakeBase& s) {
        plain_ = false;
        for (auto i : s.members) fates_[i] = InputEffect::Lost;
      },
      [&](const aot::TakeRngState& s) { more(s); },
      [](const aot::RunGraph&) {},
      [&](const aot::Attach& s) {
        plain_ = false;
        if (s.source.kind == aot::Source::Kind::Input) reshaped_.push_back(s.source.index);
      },
      [&](const aot::SetVersion& s) { more(s); },
      [&](const aot::SaveForBackward& s) { more(s); },
      [&](const aot::ResizeInput& s) { more(s); },
      [&](const aot::WriteBack& s) { more(s); },
      [&](const aot::MakeView& s) {
        plain_ = false;
        prepared.view = prepare(s);
      },
      [&](const aot::MakeOutput& s) {
        plain_ &= s.source == aot::Source{aot::Source::Kind::Result, expected_output} && !s.requires_grad;
        ++expected_output;
      },
      [&](const aot::SetTensor& s) { more(s); },
      [&](const aot::BumpVersion& s) { more(s); },
      [&](const aot::RequireGrad& s) {
        plain_ = false;
        if (s.detach && fates_[s.input] == InputEffect::Kept) fates_[s.input] = InputEffect::Detached;
      },
      [&](const aot::TakeGenerators& s) {
        plain_ = false;
        for (auto i : s.inputs) fates_[i] = InputEffect::Kept;
      },
      [&](const aot::SetGenerator& s) { more(s); },
      [&](const aot::RetainGrad& s) { more(s); },
  };
  for (const auto& step : signature_.steps) {
    prepared = {};
    std::visit(look, step);
    prepared_.push_back(std::move(prepared));
  }
}

const at::Tensor& Caller::get(const aot::Source& source, const State& state) const {
  static const auto& undefined = *new const at::Tensor();
  const size_t index = source.index;
  switch (source.kind) {
    case aot::Source::Kind::Undefined:
      return undefined;
    case aot::Source::Kind::Result:
      return state.results[index];
    case aot::Source::Kind::Input:
      return state.slots[index];
    case aot::Source::Kind::View:
      return state.views[index];
  }
  return undefined;
}

/// Throws for a written input that retains its gradient: results are connected to what the input was before
/// the call, so its gradient would lack theirs.
static void check_retained(const aot::Signature& signature, c10::ArrayRef<at::Tensor> slots) {
  for (const auto& step : signature.steps)
    if (const auto* write = std::get_if<aot::WriteBack>(&step);
        write != nullptr && write->with_history && slots[write->slot].retains_grad())
      throw Error(
          ErrorCode::NeedsGrad, "run",
          fmt::format("input {} retains its gradient, and is written while autograd records", write->slot),
          "Pass a clone() of it, or call retain_grad() on one");
}

void Caller::run_graph(State& state) const {
  c10::SmallVector<at::Tensor, 12> inputs;
  for (auto i : signature_.graph_inputs) inputs.push_back(state.slots[i]);
  inputs.append(constants_.begin(), constants_.end());
  if (backward_) {
    check_retained(signature_, state.slots);
    state.node = std::shared_ptr<CompiledBackward>(new CompiledBackward(backward_, state.slots),
                                                   torch::autograd::deleteNode);
    if (backward_->facts().draws_eagerly) state.node->generator = generator_state();
    if (state.generators) state.node->generators = state.generators->states();
  }
  if (executable_->is_deferred()) {
    state.unfinished = executable_->start(inputs, state.results);
    return;
  }
  if (!state.consumes) return executable_->run(inputs, state.results, state.early);
  std::vector<at::Tensor> owned(std::make_move_iterator(inputs.begin()),
                                std::make_move_iterator(inputs.end()));
  for (size_t i = 0; i < state.slots.size(); ++i)
    if (!slot_outlives_run_[i]) state.slots[i].reset();
  executable_->run(std::move(owned), state.results, state.early);
}

void Caller::attach(const aot::Attach& step, State& state) const {
  if (step.source.kind == aot::Source::Kind::Result) {
    auto& result = state.results[step.source.index];
    // One value of the graph may be both an output and the new contents of an input: two tensors to autograd.
    if (result.grad_fn()) result = as_fresh_tensor(result);
  }
  const auto& tensor = get(step.source, state);
  if (step.source.kind == aot::Source::Kind::Input && tensor.is_view())
    throw Error(
        ErrorCode::NeedsGrad, "run",
        fmt::format("input {} is a view, and is changed in shape while autograd records", step.source.index),
        "Pass a clone() of it");
  state.node->attach(tensor, step.tangent);
}

/// Autograd gives a view the new history of its base when it is asked for it; until then, is_leaf() calls the
/// view a leaf. For some views (of split(), made without grad mode, …) asking is an error, in eager too.
static void update_history(const at::Tensor& view) {
  const auto* meta = torch::autograd::impl::get_view_autograd_meta(view);
  if (meta == nullptr || !meta->has_bw_view() ||
      meta->get_creation_meta() == torch::autograd::CreationMeta::DEFAULT)
    static_cast<void>(view.grad_fn());
}

static void write_back(const aot::WriteBack& step, c10::ArrayRef<at::Tensor> slots,
                       const at::Tensor& contents) {
  const auto& base = slots[step.slot];
  if (contents.is_same(base)) return;  // kernels have written to it
  if (step.with_history) {
    const c10::AutoGradMode grad_mode(true);
    base.copy_(contents);
    return;
  }
  const aten::BelowRecording below;
  if (step.members.empty()) copy_memory(base, contents);
  for (auto i : step.members) {
    const auto& member = slots[i];
    const auto offset = member.storage_offset() - base.storage_offset() + contents.storage_offset();
    copy_memory(member, contents.as_strided(member.sizes(), member.strides(), offset));
  }
}

/// Runs steps one after the other, with a function for each kind.
struct Caller::StepRunner {
  const Caller& caller;
  State& state;
  const Prepared* prepared = nullptr;  ///< of the current step

  at::Tensor& slot(int32_t i) const { return state.slots[i]; }
  at::Tensor& result(int32_t i) const { return state.results[i]; }
  const at::Tensor& get(const aot::Source& source) const { return caller.get(source, state); }

  void operator()(const aot::MakeBase& step) const {
    const aten::BelowRecording below;
    const auto& first = slot(step.members[0]);
    slot(step.slot) = first.as_strided({step.elements}, {1}, first.storage_offset() - step.offset);
  }
  void operator()(const aot::TakeRngState& step) const { slot(step.slot) = take_rng_state(); }
  void operator()(const aot::RunGraph&) const { caller.run_graph(state); }
  void operator()(const aot::Attach& step) const { caller.attach(step, state); }
  void operator()(const aot::SetVersion& step) const {
    if (!result(step.result).defined()) return;  // taken
    auto counter = result(step.result).unsafeGetTensorImpl()->version_counter();
    if (counter.enabled() && counter.current_version() < step.version) counter.set_version(step.version);
  }
  void operator()(const aot::SaveForBackward&) const {
    state.node->save(state.slots, state.results, caller.fates_, caller.signature_.written);
  }
  void operator()(const aot::ResizeInput& step) const {
    const aten::BelowRecording below;
    slot(step.input).resize_(step.sizes);
  }
  void operator()(const aot::WriteBack& step) const {
    if (state.unfinished) caller.executable_->finish(*state.unfinished);
    state.unfinished.reset();
    write_back(step, state.slots, result(step.result));
    if (!step.with_history) return;
    for (auto i : caller.signature_.views) update_history(slot(i));
  }
  void operator()(const aot::MakeView& step) const {
    const c10::AutoGradMode grad_mode(!step.no_grad);
    const auto& source = get(step.source);
    state.views.push_back(source.defined() ? apply(prepared->view, source) : source);  // undefined: taken
  }
  void operator()(const aot::MakeOutput& step) const {
    auto tensor = get(step.source);
    if (step.requires_grad) tensor.set_requires_grad(true);
    state.outputs.push_back(std::move(tensor));
  }
  void operator()(const aot::SetTensor& step) const {
    const aten::BelowRecording below;
    state.changes.emplace_back(get(step.tensor), get(step.source).alias());
  }
  void operator()(const aot::BumpVersion& step) const {
    auto* impl = slot(step.input).unsafeGetTensorImpl();
    for (uint32_t i = 0; i < step.by; ++i) impl->bump_version();
  }
  void operator()(const aot::TakeGenerators& step) const {
    std::vector<at::Tensor> stand_ins;
    for (auto i : step.inputs) stand_ins.push_back(slot(i));
    state.generators.emplace(stand_ins);
    for (size_t k = 0; k < step.inputs.size(); ++k)
      slot(step.inputs[k]) = state.generators->states()[k].second;
  }
  void operator()(const aot::SetGenerator& step) const {
    state.generators->set(slot(step.input), result(step.result));
  }
  void operator()(const aot::RetainGrad& step) const {
    if (const auto& tensor = get(step.source); tensor.requires_grad()) tensor.retain_grad();
  }
  void operator()(const aot::RequireGrad& step) const {
    if (step.detach)
      slot(step.input).detach_();
    else
      slot(step.input).set_requires_grad(step.value);
  }
};

EarlyTaker* Caller::begin(EarlyResults* early, c10::ArrayRef<at::Tensor> inputs) const {
  const bool possible = early != nullptr && backward_ == nullptr && executable_->times() != nullptr;
  return possible && early->begin(*this, inputs) ? early : nullptr;
}

at::Tensor Caller::make_output(const OutputOrigin& origin, at::Tensor result) const {
  for (const auto step : origin.views) result = apply(prepared_[step].view, result);
  return result;
}

std::vector<at::Tensor> Caller::call(c10::ArrayRef<at::Tensor> inputs, EarlyResults* early) const {
  auto* const taker = begin(early, inputs);
  if (plain_) {
    std::vector<at::Tensor> outputs;
    executable_->run(inputs, outputs, taker);
    return outputs;
  }
  for (auto i : reshaped_)
    if (inputs[i].is_view())
      throw Error(ErrorCode::NeedsGrad, "run",
                  fmt::format("input {} is a view, and is changed in shape while autograd records", i),
                  "Pass a clone() of it");
  State state;
  state.early = taker;
  state.slots.append(inputs.begin(), inputs.end());
  return run_steps(state);
}

std::vector<at::Tensor> Caller::consume(std::vector<at::Tensor>&& inputs, EarlyResults* early) const {
  if (!reshaped_.empty() || backward_ != nullptr) return call(inputs);
  State state;
  state.early = begin(early, inputs);
  state.consumes = true;
  for (auto& input : inputs) state.slots.push_back(std::move(input));
  inputs.clear();
  return run_steps(state);
}

std::vector<at::Tensor> Caller::run_steps(State& state) const {
  state.slots.resize(signature_.slots);
  StepRunner runner{*this, state};
  for (size_t i = 0; i < signature_.steps.size(); ++i) {
    runner.prepared = &prepared_[i];
    visit_inline(runner, signature_.steps[i]);
  }
  if (state.node) state.node->save_after_writes(state.slots);
  for (const auto& [tensor, source] : state.changes) {
    auto* impl = tensor.unsafeGetTensorImpl();
    impl->set_storage_keep_dtype(source.storage());
    impl->set_sizes_and_strides(source.sizes(), source.strides(), source.storage_offset());
  }
  return std::move(state.outputs);
}

}  // namespace antegrad::runtime
