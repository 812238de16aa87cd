#include "antegrad/effects.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/custom_function.h>

#include "antegrad/error.h"
#include "effects/printing.h"

namespace antegrad {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Variable;
using torch::autograd::variable_list;

template <class Signature>
auto typed(const char* op) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(op, "").typed<Signature>();
}

/// The identity, with an effect on the gradient.
struct GradientEffect : torch::autograd::Function<GradientEffect> {
  static Variable forward(AutogradContext* context, const Variable& tensor, const std::string& text,
                          bool prints) {
    context->saved_data["text"] = text;
    context->saved_data["prints"] = prints;
    return tensor.clone();
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto text = context->saved_data["text"].toStringRef();
    if (context->saved_data["prints"].toBool())
      detail::print(text, {gradients[0]});
    else
      detail::call_back(text, {gradients[0]});
    return {gradients[0], Variable(), Variable()};
  }
};

void check_places(const std::string& format, size_t tensors) {
  const auto places = effects::count_places(format);
  if (places != tensors)
    throw Error(ErrorCode::InvalidArgument, "print",
                fmt::format("\"{}\" has {} places for {} tensors", format, places, tensors),
                "Write {} once for each tensor");
}

}  // namespace

namespace detail {

void print(const std::string& format, std::vector<at::Tensor> tensors) {
  check_places(format, tensors.size());
  static const auto& op = *new auto(typed<void(c10::string_view, at::TensorList)>("antegrad_effects::print"));
  op.call(format, tensors);
}

void call_back(const std::string& name, std::vector<at::Tensor> tensors) {
  static const auto& op =
      *new auto(typed<void(c10::string_view, at::TensorList)>("antegrad_effects::call_back"));
  op.call(name, tensors);
}

at::Tensor print_gradient(const std::string& format, const at::Tensor& tensor) {
  check_places(format, 1);
  return GradientEffect::apply(tensor, format, true);
}

at::Tensor call_back_with_gradient(const std::string& name, const at::Tensor& tensor) {
  return GradientEffect::apply(tensor, name, false);
}

}  // namespace detail

void check(const at::Tensor& condition, const std::string& message) {
  static const auto& op =
      *new auto(typed<void(const at::Tensor&, c10::string_view)>("antegrad_effects::check"));
  op.call(condition, message);
}

}  // namespace antegrad
