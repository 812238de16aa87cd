#include "support/intercept.h"

#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/library.h>

namespace antegrad::test {
namespace {

thread_local Interceptor* current_interceptor = nullptr;

void become_current(Interceptor* interceptor) {
  current_interceptor = interceptor;
  c10::impl::tls_set_dispatch_key_included(c10::DispatchKey::TESTING_ONLY_GenericMode,
                                           interceptor != nullptr);
}

void intercept(const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* stack) {
  auto* interceptor = current_interceptor;
  const Interception nobody(nullptr);
  if (interceptor != nullptr)
    interceptor->call(op, stack);
  else
    op.callBoxed(stack);
}

TORCH_LIBRARY_IMPL(_, TESTING_ONLY_GenericMode, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&intercept>());
}

}  // namespace

Interception::Interception(Interceptor* interceptor) : before_(current_interceptor) {
  become_current(interceptor);
}
Interception::~Interception() { become_current(before_); }

}  // namespace antegrad::test
