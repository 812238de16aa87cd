#pragma once
#include <ATen/core/dispatch/Dispatcher.h>

namespace antegrad::test {

/// Is given the ops of a thread, before autograd and all others see them.
class Interceptor {
 public:
  virtual ~Interceptor() = default;
  /// Has to call the op. What that calls in turn is not intercepted.
  virtual void call(const c10::OperatorHandle& op, torch::jit::Stack* stack) = 0;
};

/// While it lives, ops of this thread (those of backward passes that it runs included) go to `interceptor`;
/// to nobody when that is null.
class Interception {
 public:
  explicit Interception(Interceptor* interceptor);
  ~Interception();
  Interception(const Interception&) = delete;
  Interception& operator=(const Interception&) = delete;

 private:
  Interceptor* before_;
};

}  // namespace antegrad::test
