#include "aten/dispatch_mode.h"

#include <c10/core/impl/PyInterpreter.h>
#include <c10/core/impl/TorchDispatchModeTLS.h>

namespace antegrad::aten {

using c10::impl::PyObject_TorchDispatchMode;
using c10::impl::TorchDispatchModeTLS;

static DispatchMode& mode_of(PyObject* object) { return *reinterpret_cast<DispatchMode*>(object); }

/// LibTorch reaches dispatch modes through the interface of a Python interpreter. This one is no interpreter:
/// its "objects" are modes. LibTorch calls only dispatch and detach, since fakes carry no Python object.
struct ModeInterface final : c10::impl::PyInterpreterVTable {
  std::string name() const override { return "antegrad"; }
  void incref(PyObject* object) const override { ++mode_of(object).owners_; }
  void decref(PyObject* object) const override {
    if (auto& mode = mode_of(object); --mode.owners_ == 0) delete &mode;
  }
  bool try_incref(const c10::impl::PyObjectSlot&) const override { return false; }
  size_t refcnt(PyObject*) const override { return 1; }

  c10::intrusive_ptr<c10::TensorImpl> detach(const c10::TensorImpl* self) const override {
    const at::Tensor tensor(c10::intrusive_ptr<c10::TensorImpl>::unsafe_reclaim_from_nonowning(
        const_cast<c10::TensorImpl*>(self)));
    return active_mode()->detach(tensor);
  }
  void dispatch(const c10::OperatorHandle& op, torch::jit::Stack* stack) const override {
    active_mode()->dispatch(op, *stack);
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

static c10::impl::PyInterpreter* interpreter() {
  // Never destroyed: thread-local mode stacks may outlive main().
  static auto* instance = new c10::impl::PyInterpreter(new ModeInterface);
  return instance;
}

void push_mode(std::unique_ptr<DispatchMode> mode) {
  TorchDispatchModeTLS::push_non_infra_mode_onto_stack(std::make_shared<PyObject_TorchDispatchMode>(
      reinterpret_cast<PyObject*>(mode.release()), interpreter()));
}

std::shared_ptr<void> pop_mode() { return TorchDispatchModeTLS::pop_stack(); }

void push_again(std::shared_ptr<void> popped) {
  TorchDispatchModeTLS::push_non_infra_mode_onto_stack(
      std::static_pointer_cast<PyObject_TorchDispatchMode>(std::move(popped)));
}

DispatchMode* active_mode() {
  const auto depth = TorchDispatchModeTLS::stack_len();
  if (depth == 0) return nullptr;
  const auto& mode = TorchDispatchModeTLS::get_stack_at(depth - 1);
  if (&mode->pyinterpreter() != interpreter()) return nullptr;
  return &mode_of(mode->ptr(interpreter()));
}

}  // namespace antegrad::aten
