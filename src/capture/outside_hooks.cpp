#include "capture/outside_hooks.h"

#include <ATen/core/VariableHooksInterface.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/util/StringUtil.h>

#include "antegrad/error.h"
#include "capture/fake.h"
#include "capture/mode.h"
#include "capture/place.h"
#include "capture/recorder.h"
#include "util/call_site.h"

namespace antegrad::capture {
namespace {

using at::TensorBase;

void check_not_from_outside(const TensorBase& tensor, const char* what) {
  auto* recorder = active_recorder();
  if (recorder == nullptr || recorder->tape != nullptr || !tensor.defined() ||
      as_fake(at::Tensor(tensor)) != nullptr ||
      c10::impl::tls_is_dispatch_key_excluded(c10::DispatchKey::Python))
    return;
  const Error refusal(ErrorCode::UnsupportedOp, "capture:hook",
                      c10::str("the function calls ", what, "() on a tensor of shape ", tensor.sizes(),
                               " that was made outside it, which later calls would not do"),
                      "Call it outside the function, or set Options::unsupported to Eager or Break");
  auto placed = with_place(refusal, recorder->graph(), call_stack());
  recorder->last_error = std::make_exception_ptr(placed);
  throw placed;
}

/// What LibTorch calls for everything that a tensor knows of autograd, with two checks before it.
class CheckedHooks final : public at::impl::VariableHooksInterface {
 public:
  explicit CheckedHooks(VariableHooksInterface& own) : own_(own) {}

  unsigned _register_hook(const TensorBase& self,
                          std::function<TensorBase(const TensorBase&)> hook) const override {
    check_not_from_outside(self, "register_hook");
    return own_._register_hook(self, std::move(hook));
  }
  void retain_grad(const TensorBase& self) const override {
    if (!own_.is_leaf(self)) check_not_from_outside(self, "retain_grad");
    own_.retain_grad(self);
  }

  TensorBase tensor_data(const TensorBase& self) const override { return own_.tensor_data(self); }
  TensorBase variable_data(const TensorBase& self) const override { return own_.variable_data(self); }
  const std::shared_ptr<torch::autograd::Node>& grad_fn(const TensorBase& self) const override {
    return own_.grad_fn(self);
  }
  void remove_hook(const TensorBase& self, unsigned pos) const override { own_.remove_hook(self, pos); }
  bool is_view(const TensorBase& self) const override { return own_.is_view(self); }
  const TensorBase& base(const TensorBase& self) const override { return own_.base(self); }
  const std::string& name(const TensorBase& self) const override { return own_.name(self); }
  bool is_leaf(const TensorBase& self) const override { return own_.is_leaf(self); }
  int64_t output_nr(const TensorBase& self) const override { return own_.output_nr(self); }
  void set_data(const TensorBase& self, const TensorBase& data) const override { own_.set_data(self, data); }
  TensorBase data(const TensorBase& self) const override { return own_.data(self); }
  int64_t _version(const TensorBase& self) const override { return own_._version(self); }
  bool retains_grad(const TensorBase& self) const override { return own_.retains_grad(self); }
  void _backward(const at::Tensor& self, at::TensorList inputs, const std::optional<at::Tensor>& gradient,
                 std::optional<bool> keep_graph, bool create_graph) const override {
    own_._backward(self, inputs, gradient, keep_graph, create_graph);
  }
  void requires_grad_(const TensorBase& self, bool value) const override { own_.requires_grad_(self, value); }
  void basic_autograd_not_implemented_fallback(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                                               torch::jit::Stack* stack) const override {
    own_.basic_autograd_not_implemented_fallback(op, keys, stack);
  }
  std::optional<c10::ScalarType> grad_dtype(const TensorBase& self) const override {
    return own_.grad_dtype(self);
  }
  void set_grad_dtype(const TensorBase& self, const std::optional<c10::ScalarType>& type) const override {
    own_.set_grad_dtype(self, type);
  }

 private:
  VariableHooksInterface& own_;
};

}  // namespace

void refuse_hooks_of_outside() {
  [[maybe_unused]] static const bool once = [] {
    at::impl::SetVariableHooks(new CheckedHooks(*at::impl::GetVariableHooks()));
    return true;
  }();
}

}  // namespace antegrad::capture
