#include "capture/tape.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/SavedTensorHooks.h>
#include <ATen/SequenceNumber.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>
#include <c10/core/DefaultDtype.h>
#include <c10/core/GradMode.h>
#include <c10/core/InferenceMode.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/function.h>

#include <algorithm>
#include <cstring>

#include "aten/below_recording.h"
#include "aten/convert.h"
#include "aten/storage_access.h"
#include "capture/histories.h"
#include "capture/host_reads.h"
#include "capture/mode.h"
#include "capture/place.h"
#include "capture/recording.h"
#include "capture/rules/rules.h"
#include "capture/stretch_settings.h"
#include "util/call_site.h"

namespace antegrad::capture {

using namespace aten;

namespace {

std::string described(const Error& error, const ir::Graph& graph) {
  return with_place(error, graph, call_stack()).what();
}

/// A break at an op that answers with a number.
Error read_at(const OpSchema& schema) {
  return {ErrorCode::DataRead, "break:" + schema.name, "the function reads the data of a tensor on the host",
          ""};
}

std::string described_access(const ir::Graph& graph) {
  const Error error(ErrorCode::DataRead, "break:data_ptr",
                    "the function accesses the memory of a tensor on the host", "");
  return described(error, graph);
}

/// Has the kernel run, whatever is above it: the op has come through autograd already.
void run_kernel(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  auto keys = c10::impl::tls_local_dispatch_key_set();
  keys.excluded_ = keys.excluded_ | keys_above_kernels();
  // Versions are counted by a kernel for this key or, where an op has none, by the ops that its kernel calls.
  constexpr auto kCountsVersions = c10::DispatchKey::ADInplaceOrView;
  if (!op.hasKernelForDispatchKey(kCountsVersions)) keys.excluded_ = keys.excluded_.remove(kCountsVersions);
  const c10::impl::ForceDispatchKeyGuard below(keys);
  op.callBoxed(stack);
}

/// Returns a tensor with these contents at the place of another one in autograd's graph.
at::Tensor with_contents(const at::Tensor& tensor, const std::vector<uint8_t>& contents) {
  auto dense = at::empty(tensor.sizes(), tensor.options());
  if (!contents.empty()) std::memcpy(dense.mutable_data_ptr(), contents.data(), contents.size());
  const c10::AutoGradMode no_history(false);
  auto copy = at::empty_strided(tensor.sizes(), tensor.strides(), tensor.options()).copy_(dense);
  if (tensor.requires_grad())
    torch::autograd::impl::set_gradient_edge(copy, torch::autograd::impl::gradient_edge(tensor));
  return copy;
}

/// The tensor that a stretch gets for an outsider: a copy where the host's memory may be gone or has changed
/// since an op of the stretch has read it.
at::Tensor input_of(const Outsider& outsider, bool histories) {
  const auto& tensor = outsider.tensor;
  const bool is_leaf = tensor.requires_grad() && tensor.is_leaf();
  if (outsider.snapshot && !is_leaf && (is_borrowed(tensor) || *contents_of(tensor) != *outsider.snapshot))
    return with_contents(tensor, *outsider.snapshot);
  if (histories || outsider.wrapped_number) return tensor;
  // Version counters have counted the writes already.
  return at::Tensor(tensor.unsafeGetTensorImpl()->shallow_copy_and_detach(c10::VariableVersion(0), true));
}

/// Lets everybody who holds the storage see the memory of another one.
void show_memory(c10::StorageImpl& held, const c10::Storage& real) {
  stop_refusing_access(held);
  held.set_allocator(real.unsafeGetStorageImpl()->allocator());
  auto* owner = new c10::Storage(real);
  void* data = real.unsafeGetStorageImpl()->_mutable_data_ptr_no_checks().get();
  held.set_data_ptr_noswap(
      {data, owner, [](void* context) { delete static_cast<c10::Storage*>(context); }, real.device()});
}

}  // namespace

/// While it lives, questions about tensors are our own.
class Tape::Busy {
 public:
  explicit Busy(Tape& tape) : tape_(tape), was_paused_(std::exchange(tape.paused_, true)) {}
  ~Busy() { tape_.paused_ = was_paused_; }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  Tape& tape_;
  bool was_paused_;
};

/// While it lives, the thread is as outside the function: ops are neither recorded nor cast, and autograd is
/// on.
class Tape::Pause {
 public:
  explicit Pause(Tape& tape) : busy_(tape), keys_(outer_keys(tape)) {
    if (c10::InferenceMode::is_enabled() != tape.inference_) inference_.emplace(tape.inference_);
  }
  Pause(const Pause&) = delete;
  Pause& operator=(const Pause&) = delete;

 private:
  static c10::impl::LocalDispatchKeySet outer_keys(const Tape& tape) {
    auto keys = tape.keys_;
    keys.excluded_ = keys.excluded_ | c10::autocast_dispatch_keyset;
    return keys;
  }

  Busy busy_;
  RecordingPause recording_;
  c10::impl::ForceDispatchKeyGuard keys_;
  c10::AutoGradMode grad_mode_{true};
  std::optional<c10::InferenceMode> inference_;
};

Tape::Tape(RunStretch run, c10::ArrayRef<at::Tensor> arguments)
    : run_stretch_(std::move(run)), keys_(c10::impl::tls_local_dispatch_key_set()) {
  for (const auto& argument : arguments)
    if (argument.defined()) arguments_.push_back(argument.unsafeGetTensorImpl());
  inference_ = c10::InferenceMode::is_enabled();
  renew();
}

Tape::~Tape() {
  allow_access();
  for (const auto& registry : registries_) registry->access = nullptr;
}

void Tape::renew() {
  pending_.clear();
  undrawn_ = drawn_ = at::Tensor();
  keep_histories_ = false;
  if (recorder_) recorder_->outside().accept();
  recorder_.emplace();
  recorder_->tape = this;
  recorder_->outside().expect_effects([this](const at::Tensor& tensor) { return is_hosts(tensor); });
  recorder_->registry()->access = this;
  registries_.push_back(recorder_->registry());
  first_sequence_ = at::sequence_number::peek();
}

bool Tape::is_argument(const at::Tensor& tensor) const {
  return std::find(arguments_.begin(), arguments_.end(), tensor.unsafeGetTensorImpl()) != arguments_.end();
}

bool Tape::is_hosts(const at::Tensor& tensor) const {
  return shown_.contains(tensor.storage().unsafeGetStorageImpl()) ||
         (is_borrowed(tensor) && !is_argument(tensor));
}

void Tape::run(const std::function<void()>& function) {
  Recording recording(*recorder_);
  const HostReads host_reads(*recorder_);
  std::exception_ptr thrown;
  try {
    function();
  } catch (...) {
    thrown = std::current_exception();
  }
  close({});  // what the function did before it threw has happened
  if (thrown) std::rethrow_exception(thrown);
}

void Tape::note_state() {
  if (was_reseeded())
    close([](const ir::Graph& graph) {
      const Error error(ErrorCode::UnsupportedOp, "break:manual_seed",
                        "the function seeds the random generator", "");
      return described(error, graph);
    });
  if (torch::autograd::get_current_node() != nullptr || at::SavedTensorDefaultHooks::get_hooks())
    keep_histories_ = true;
  if (c10::InferenceMode::is_enabled() == inference_) return;
  if (!recorder_->graph().nodes.empty())
    close([](const ir::Graph& graph) {
      const Error error(ErrorCode::UnsupportedOp, "break:inference_mode",
                        "inference mode is switched on or off", "");
      return described(error, graph);
    });
  inference_ = c10::InferenceMode::is_enabled();
}

/// Called when an op that draws random numbers was recorded.
void Tape::note_random() {
  if (undrawn_.defined()) return;
  const BelowRecording below;
  auto generator = aten::default_generator();
  const std::scoped_lock lock(generator.mutex());
  undrawn_ = generator.get_state();
  generator.get<at::CPUGeneratorImpl>()->random();
  drawn_ = generator.get_state();
  seed_ = aten::seed_mark(generator);
}

bool Tape::was_reseeded() const {
  return undrawn_.defined() && aten::is_seeded_since(seed_, aten::seed_mark(aten::default_generator()));
}

/// Whether the op writes memory of the host: the function may read it right after.
bool Tape::must_run_now(const OpSchema& schema, const torch::jit::Stack& stack) {
  if (answers_host(schema)) return true;
  if (!schema.writes) return false;
  const Busy busy(*this);
  bool hosts = false;
  const auto is_seen = [this](const at::Tensor& real) {
    return real.has_storage() &&
           (is_borrowed(real) || shown_.contains(real.storage().unsafeGetStorageImpl()));
  };
  for_each_written(schema, torch::jit::last(stack, schema.args.size()), [&](const at::Tensor& tensor) {
    const auto* fake = as_fake(tensor);
    const auto* outsider =
        fake == nullptr ? nullptr : recorder_->outside().find(recorder_->graph().storage_of(fake->value()));
    hosts |= fake == nullptr ? is_seen(tensor) : outsider != nullptr && is_seen(outsider->tensor);
  });
  return hosts;
}

void Tape::note_pending_writes(const OpSchema& schema, const std::vector<c10::IValue>& arguments) {
  // Statistics that a layer updates on the side are not guarded: other threads may be reading them.
  if (std::all_of(schema.return_is_arg.begin(), schema.return_is_arg.end(), [](int a) { return a < 0; }))
    return;
  for_each_written(schema, arguments, [&](const at::Tensor& tensor) {
    auto memory = tensor.unsafeGetTensorImpl()->storage();
    if (const auto* fake = as_fake(tensor)) {
      auto* outsider = recorder_->outside().find(recorder_->graph().storage_of(fake->value()));
      if (outsider == nullptr) return;
      memory = outsider->tensor.storage();
    }
    if (!pending_.insert(memory.unsafeGetStorageImpl()).second) return;
    static const auto& message = *new const std::optional<std::string>(
        "[break:data_ptr] the memory of a tensor is accessed that the function has changed by an op; the op "
        "runs at the next graph break. Read the tensor by an op, such as item() or clone()");
    memory.unsafeGetStorageImpl()->release_data_and_set_meta_custom_data_ptr_error_msg_(message);
    guarded_.push_back(std::move(memory));
  });
}

void Tape::allow_access() {
  for (const auto& storage : guarded_) {
    auto* impl = storage.unsafeGetStorageImpl();
    stop_refusing_access(*impl);
    auto data = std::move(impl->_mutable_data_ptr_no_checks());
    impl->set_data_ptr_noswap(std::move(data));
  }
  guarded_.clear();
}

void Tape::dispatch(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const auto& schema = schema_of(op);
  note_state();
  DescribeBreak why;
  if (must_run_now(schema, *stack)) {
    why = [&](const ir::Graph& graph) { return described(read_at(schema), graph); };
  } else {
    std::vector<c10::IValue> written;
    if (schema.writes)
      written.assign(stack->end() - static_cast<std::ptrdiff_t>(schema.args.size()), stack->end());
    try {
      const Busy busy(*this);
      recorder_->record(op, stack);
      if (schema.random) note_random();
      if (schema.writes) note_pending_writes(schema, written);
      return;
    } catch (const Error& error) {
      why = [error](const ir::Graph& graph) { return described(error, graph); };
    } catch (const std::exception& error) {
      why = [text = first_line(error)](const ir::Graph&) {
        return text;
      };  // eager will say it, or know better
    }
  }
  close(why);
  run_kernel(op, stack);
}

c10::intrusive_ptr<c10::TensorImpl> Tape::alias(const at::Tensor& tensor) {
  note_state();
  try {
    const Busy busy(*this);
    return recorder_->add_alias(tensor);
  } catch (const Error& error) {
    close([&](const ir::Graph& graph) { return described(error, graph); });
  }
  const BelowRecording below;
  return tensor.unsafeGetTensorImpl()->shallow_copy_and_detach(c10::VariableVersion(0), true);
}

bool Tape::runs_users_code() const {
  return !paused_ && active_recorder() == &*recorder_ &&
         !c10::impl::tls_is_dispatch_key_excluded(c10::DispatchKey::Python);
}

void Tape::on_access(FakeTensor& tensor) {
  if (!runs_users_code()) return;
  const bool has_contents = !is_fake_storage(tensor.storage());
  const bool is_current =
      has_contents ? pending_.count(tensor.storage().unsafeGetStorageImpl()) == 0 : fill_unused_empty(tensor);
  if (!is_current) close(described_access);
  const auto& memory = tensor.storage();
  if (memory.device().is_cpu()) shown_.emplace(memory.unsafeGetStorageImpl(), memory);
}

/// Recorded ops may write the memory, or have read it before the function writes through the pointer.
void Tape::on_access(const c10::TensorImpl& tensor) {
  if (!runs_users_code()) return;
  const auto& outsiders = recorder_->outside().all();
  if (std::any_of(outsiders.begin(), outsiders.end(), [&](const auto& outsider) {
        return !outsider->wrapped_number &&
               outsider->tensor.storage().unsafeGetStorageImpl() == tensor.storage().unsafeGetStorageImpl();
      }))
    close(described_access);
}

/// Gives a tensor memory that was just made by empty() for the host to fill, as torch::tensor() does: that is
/// no break.
bool Tape::fill_unused_empty(FakeTensor& tensor) {
  const auto& graph = recorder_->graph();
  if (graph.nodes.empty() || !tensor.device().is_cpu()) return false;
  const auto& node = graph.nodes.back();
  if (node.op != "aten.empty.memory_format" || node.outputs[0] != tensor.value()) return false;
  const BelowRecording below;
  tensor.become(at::empty_strided(tensor.sizes(), tensor.strides(),
                                  at::TensorOptions().dtype(tensor.dtype()).device(tensor.device())));
  return true;
}

namespace {

/// A fake that is still held, and where its contents come from.
struct Held {
  at::Tensor tensor;
  FakeTensor* fake = nullptr;
  const Outsider* of = nullptr;  ///< it is on the memory of this real tensor
  int32_t output = -1;           ///< of the stretch; -1 where it needs none
};

/// A storage that is held by others than fakes.
struct HeldMemory {
  c10::Storage storage;
  const Outsider* of = nullptr;
  int32_t output = -1;
};

/// Numbers the outputs of a stretch.
class Outputs {
 public:
  explicit Outputs(Stretch& stretch) : stretch_(stretch) {}
  int32_t of(ir::ValueId value, bool requires_grad) {
    const auto [found, added] =
        numbers_.try_emplace(value.index, static_cast<int32_t>(stretch_.outputs.size()));
    if (added) {
      stretch_.outputs.push_back(value);
      stretch_.requires_grad.push_back(requires_grad);
    }
    return found->second;
  }

 private:
  Stretch& stretch_;
  std::unordered_map<int32_t, int32_t> numbers_;
};

std::vector<Held> find_held(Recorder& recorder, const Histories& had_history, bool histories,
                            Outputs& outputs) {
  std::vector<Held> held;
  for (auto& tensor : recorder.fakes().all()) {
    auto* fake = as_fake(tensor);
    if (fake != nullptr) held.push_back({std::move(tensor), fake, nullptr, -1});
  }
  std::sort(held.begin(), held.end(),
            [](const Held& a, const Held& b) { return a.fake->value() < b.fake->value(); });
  for (auto& one : held) {
    const auto root = recorder.graph().storage_of(one.fake->value());
    one.of = recorder.outside().find(root);
    if (histories)
      one.output = outputs.of(one.fake->value(), had_history.at(one.fake));
    else if (one.of == nullptr)
      one.output = outputs.of(root, false);
  }
  return held;
}

std::vector<HeldMemory> find_held_memory(Recorder& recorder, const std::vector<Held>& fakes,
                                         Outputs& outputs) {
  std::unordered_map<const c10::StorageImpl*, size_t> known;
  for (const auto& one : fakes) ++known[one.fake->storage().unsafeGetStorageImpl()];
  for (const auto& outsider : recorder.outside().all())
    ++known[outsider->fake_storage.unsafeGetStorageImpl()];
  std::vector<std::pair<ir::ValueId, HeldMemory>> held;
  for (const auto& [key, memory] : recorder.memory()) {
    auto storage = memory.storage.lock();
    if (!storage) continue;
    const auto found = known.find(key);
    if (storage.use_count() > 1 + (found == known.end() ? 0 : found->second) &&
        is_fake_storage(c10::Storage(storage)))
      held.push_back({memory.root, {c10::Storage(std::move(storage)), nullptr, -1}});
  }
  std::sort(held.begin(), held.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<HeldMemory> out;
  for (auto& [root, memory] : held) {
    memory.of = recorder.outside().find(root);
    if (memory.of == nullptr) memory.output = outputs.of(root, false);
    out.push_back(std::move(memory));
  }
  return out;
}

}  // namespace

void Tape::close(const DescribeBreak& why) {
  const Pause pause(*this);
  allow_access();
  struct Renew {
    Tape& tape;
    ~Renew() { tape.renew(); }
  } const at_the_end{*this};
  const StretchSettings settings(recorder_->default_dtype(), undrawn_, drawn_, was_reseeded());
  auto& recorder = *recorder_;
  Stretch stretch;
  if (recorder.graph().nodes.empty()) {
    if (why) run_stretch_(stretch, why);
    return;
  }
  stretch.histories = !keep_histories_ && histories_are_of_ops(recorder, first_sequence_);
  stretch.inference = inference_;
  Histories had_history;
  if (stretch.histories) {
    had_history = drop_histories(recorder);
    recorder.outside().restore();
  }
  recorder.outside().accept();
  Outputs outputs(stretch);
  const auto held = find_held(recorder, had_history, stretch.histories, outputs);
  const auto held_memory = find_held_memory(recorder, held, outputs);
  for (const auto& outsider : recorder.outside().all()) {
    stretch.input_values.push_back(outsider->value);
    stretch.inputs.push_back(input_of(*outsider, stretch.histories));
  }
  const bool histories = stretch.histories;
  stretch.graph = std::move(recorder.graph());
  const auto results = run_stretch_(stretch, why);
  for (const auto& memory : held_memory)
    show_memory(*memory.storage.unsafeGetStorageImpl(),
                memory.of != nullptr ? memory.of->tensor.storage() : results[memory.output].storage());
  for (const auto& one : held) {
    if (histories) take_history(one.tensor, results[one.output], had_history.at(one.fake), one.of == nullptr);
    if (one.of != nullptr)
      one.fake->move_to(one.of->tensor.storage());
    else if (histories)
      one.fake->become(results[one.output]);
    else
      one.fake->move_to(results[one.output].storage());
  }
}

TapeOff::TapeOff(const char* reason) {
  auto* recorder = active_recorder();
  if (recorder == nullptr || recorder->tape == nullptr) return;
  auto& tape = *recorder->tape;
  const bool grad_mode = c10::GradMode::is_enabled();
  tape.close([&](const ir::Graph& graph) {
    return described(Error(ErrorCode::DataRead, "break:backward", reason, ""), graph);
  });
  pause_ = std::make_unique<Tape::Pause>(tape);
  grad_mode_.emplace(grad_mode);
}

TapeOff::~TapeOff() = default;

}  // namespace antegrad::capture
