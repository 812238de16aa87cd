#pragma once
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <atomic>
#include <memory>

namespace antegrad::aten {

/// Receives every op that a thread calls below autograd, while it is the thread's innermost dispatch mode.
/// Threads of autograd's engine that work for the thread share it.
class DispatchMode {
 public:
  DispatchMode() = default;
  virtual ~DispatchMode() = default;
  DispatchMode(const DispatchMode&) = delete;
  DispatchMode& operator=(const DispatchMode&) = delete;

  /// Replaces the arguments of the op on the stack by its results.
  virtual void dispatch(const c10::OperatorHandle& op, torch::jit::Stack& stack) = 0;
  /// Returns an alias of the tensor without history.
  virtual c10::intrusive_ptr<c10::TensorImpl> detach(const at::Tensor& tensor) = 0;

 private:
  friend struct ModeInterface;
  std::atomic<size_t> owners_ = 1;
};

/// Makes the mode the innermost one of this thread.
void push_mode(std::unique_ptr<DispatchMode> mode);
/// Takes off the innermost mode of this thread, which push_again() puts back.
std::shared_ptr<void> pop_mode();
void push_again(std::shared_ptr<void> popped);
/// Returns the innermost mode of this thread; null when there is none, or it is not a DispatchMode.
DispatchMode* active_mode();

}  // namespace antegrad::aten
