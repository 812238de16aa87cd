#include "capture/mode.h"

#include <c10/core/impl/PyInterpreter.h>
#include <c10/core/impl/TorchDispatchModeTLS.h>

#include <atomic>

#include "aten/below_recording.h"
#include "aten/op_schema.h"
#include "capture/place.h"
#include "capture/recorder.h"
#include "capture/recording_lock.h"
#include "capture/tape.h"
#include "util/call_site.h"

namespace antegrad::capture {
namespace {

using c10::impl::PyObject_TorchDispatchMode;
using c10::impl::TorchDispatchModeTLS;

/// The object of a mode. Threads that work for one capture share it.
struct Target {
  Recorder& recorder;
  std::recursive_mutex recording{};
  std::atomic<size_t> owners = 1;
};

Target& target_of(PyObject* object) { return *reinterpret_cast<Target*>(object); }

/// LibTorch reaches dispatch modes through the interface of a Python interpreter. This one is no interpreter:
/// its "objects" are targets. LibTorch calls only dispatch and detach, since fakes carry no Python object.
struct RecorderInterface final : c10::impl::PyInterpreterVTable {
  std::string name() const override { return "antegrad"; }
  void incref(PyObject* object) const override { ++target_of(object).owners; }
  void decref(PyObject* object) const override {
    if (auto& target = target_of(object); --target.owners == 0) delete &target;
  }
  bool try_incref(const c10::impl::PyObjectSlot&) const override { return false; }
  size_t refcnt(PyObject*) const override { return 1; }

  c10::intrusive_ptr<c10::TensorImpl> detach(const c10::TensorImpl* self) const override {
    at::Tensor tensor(c10::intrusive_ptr<c10::TensorImpl>::unsafe_reclaim_from_nonowning(
        const_cast<c10::TensorImpl*>(self)));
    auto* recorder = active_recorder();
    if (recorder->tape != nullptr) return recorder->tape->alias(tensor);
    return recorder->add_alias(tensor);
  }

  void dispatch(const c10::OperatorHandle& op, torch::jit::Stack* stack) const override {
    auto* recorder = active_recorder();
    // In inference mode composite ops arrive whole: decompose them with recording still on.
    if (aten::schema_of(op).is_composite) {
      op.callBoxedForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd, *stack);
      return;
    }
    if (recorder->tape != nullptr) return recorder->tape->dispatch(op, stack);
    try {
      recorder->record(op, stack);
    } catch (const Error& error) {
      if (recorder->threw(error)) throw;  // an op that this one is made of
      auto placed = with_place(error, recorder->graph(), call_stack());
      recorder->last_error = std::make_exception_ptr(placed);
      throw placed;
    }
  }

  void reportErrorCallback(PyObject*, c10::DispatchKey) const override {}
  void python_op_registration_trampoline(const c10::OperatorHandle&, c10::DispatchKey, c10::DispatchKeySet,
                                         torch::jit::Stack*, bool, bool) const override {}
  void throw_abstract_impl_not_imported_error(std::string, const char*, const char*) const override {}
  void python_dispatcher(const c10::OperatorHandle&, c10::DispatchKeySet, torch::jit::Stack*) const override {
  }
  bool is_contiguous(const c10::TensorImpl*, at::MemoryFormat) const override { return false; }
  c10::SymBool sym_is_contiguous(const c10::TensorImpl*, at::MemoryFormat) const override { return false; }
  bool is_strides_like(const c10::TensorImpl*, at::MemoryFormat) const override { return false; }
  bool is_non_overlapping_and_dense(const c10::TensorImpl*) const override { return false; }
  c10::Device device(const c10::TensorImpl*) const override { return c10::kCPU; }
  int64_t dim(const c10::TensorImpl*) const override { return 0; }
  c10::IntArrayRef strides(const c10::TensorImpl*) const override { return {}; }
  c10::IntArrayRef sizes(const c10::TensorImpl*) const override { return {}; }
  c10::SymIntArrayRef sym_sizes(const c10::TensorImpl*) const override { return {}; }
  c10::Layout layout(const c10::TensorImpl*) const override { return c10::kStrided; }
  int64_t numel(const c10::TensorImpl*) const override { return 0; }
  c10::SymInt sym_numel(const c10::TensorImpl*) const override { return 0; }
  c10::SymIntArrayRef sym_strides(const c10::TensorImpl*) const override { return {}; }
  c10::SymInt sym_storage_offset(const c10::TensorImpl*) const override { return 0; }
  void trace_gpu_event_creation(c10::DeviceType, uintptr_t) const override {}
  void trace_gpu_event_deletion(c10::DeviceType, uintptr_t) const override {}
  void trace_gpu_event_record(c10::DeviceType, uintptr_t, uintptr_t) const override {}
  void trace_gpu_event_wait(c10::DeviceType, uintptr_t, uintptr_t) const override {}
  void trace_gpu_memory_allocation(c10::DeviceType, uintptr_t) const override {}
  void trace_gpu_memory_deallocation(c10::DeviceType, uintptr_t) const override {}
  void trace_gpu_stream_creation(c10::DeviceType, uintptr_t) const override {}
  void trace_gpu_device_synchronization(c10::DeviceType) const override {}
  void trace_gpu_stream_synchronization(c10::DeviceType, uintptr_t) const override {}
  void trace_gpu_event_synchronization(c10::DeviceType, uintptr_t) const override {}
  void reset_backward_hooks(const c10::TensorImpl*) const override {}
};

c10::impl::PyInterpreter* interpreter() {
  // Never destroyed: thread-local mode stacks may outlive main().
  static auto* instance = new c10::impl::PyInterpreter(new RecorderInterface);
  return instance;
}

}  // namespace

static Target* active_target() {
  const auto depth = TorchDispatchModeTLS::stack_len();
  if (depth == 0) return nullptr;
  const auto& mode = TorchDispatchModeTLS::get_stack_at(depth - 1);
  if (&mode->pyinterpreter() != interpreter()) return nullptr;
  return &target_of(mode->ptr(interpreter()));
}

Recorder* active_recorder() {
  auto* target = active_target();
  return target != nullptr ? &target->recorder : nullptr;
}

RecordingLock::RecordingLock() {
  if (auto* target = active_target(); target != nullptr) lock_ = std::unique_lock(target->recording);
}

RecordingMode::RecordingMode(Recorder& recorder) {
  TorchDispatchModeTLS::push_non_infra_mode_onto_stack(std::make_shared<PyObject_TorchDispatchMode>(
      reinterpret_cast<PyObject*>(new Target{recorder}), interpreter()));
}

RecordingMode::~RecordingMode() { TorchDispatchModeTLS::pop_stack(); }

RecordingPause::RecordingPause() : mode_(TorchDispatchModeTLS::pop_stack()) {}
RecordingPause::~RecordingPause() {
  TorchDispatchModeTLS::push_non_infra_mode_onto_stack(
      std::static_pointer_cast<PyObject_TorchDispatchMode>(mode_));
}

}  // namespace antegrad::capture
