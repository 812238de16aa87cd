#include <ATen/ops/all.h>
#include <c10/core/GradMode.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>
#include <torch/library.h>

#include "antegrad/compile.h"
#include "effects/callbacks.h"
#include "effects/printing.h"

// The ops are those of a library about which a capture knows only that it has effects: they are recorded
// without being run, kept in order, and run as they are.
namespace antegrad::effects {
namespace {

std::vector<at::Tensor> detached(at::TensorList tensors) {
  std::vector<at::Tensor> out;
  for (const auto& tensor : tensors) out.push_back(tensor.defined() ? tensor.detach() : tensor);
  return out;
}

void print_now(c10::string_view format, at::TensorList tensors) {
  const c10::NoGradGuard no_grad;
  print_line(text_of(std::string(format), detached(tensors)));
}

void check_now(const at::Tensor& condition, c10::string_view message) {
  const c10::NoGradGuard no_grad;
  TORCH_CHECK(at::all(condition).item().toBool(), message);
}

void call_back_now(c10::string_view name, at::TensorList tensors) {
  const c10::NoGradGuard no_grad;
  find_callback(std::string(name))(detached(tensors));
}

TORCH_LIBRARY(antegrad_effects, library) {
  library.def("print(str format, Tensor[] tensors) -> ()");
  library.def("check(Tensor condition, str message) -> ()");
  library.def("call_back(str name, Tensor[] tensors) -> ()");
  register_effect("antegrad_effects::print", "print");
}
TORCH_LIBRARY_IMPL(antegrad_effects, CompositeExplicitAutograd, library) {
  library.impl("print", print_now);
  library.impl("check", check_now);
  library.impl("call_back", call_back_now);
}

}  // namespace
}  // namespace antegrad::effects
