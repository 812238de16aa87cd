#pragma once
#include <ATen/core/dispatch/Dispatcher.h>

namespace antegrad::test {

/// Sees the ops of a thread before autograd and all other dispatch keys do.
class Interceptor {
 public:
  virtual ~Interceptor() = default;
  /// Must call the op. Ops that the call makes in turn are not intercepted.
  virtual void call(const c10::OperatorHandle& op, torch::jit::Stack* stack) = 0;
};

/// While it lives, ops of this thread, those of backward passes that it runs included, go to `interceptor`;
/// when that is null, to no interceptor.
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
