#include <ATen/ops/zeros_like.h>
#include <torch/library.h>

#include "antegrad/compile.h"
#include "distributed/groups.h"

namespace antegrad::distributed {
namespace {

void agree_now(c10::string_view text, c10::string_view group) {
  agree(std::string(text), std::string(group));
}

/// Makes no difference between processes in graphs: the same op runs in all of them.
at::Tensor only_on(const at::Tensor& tensor, int64_t rank, c10::string_view group) {
  return place_in(std::string(group)).rank == rank ? tensor.clone() : at::zeros_like(tensor);
}

TORCH_LIBRARY(antegrad_distributed, library) {
  library.def("agree(str text, str group) -> ()");
  library.def("only_on(Tensor tensor, int rank, str group) -> Tensor");
  register_shape(
      "antegrad_distributed::only_on",
      [](const std::vector<c10::IValue>& arguments) {
        return std::vector<c10::IValue>{at::empty_like(arguments[0].toTensor())};
      },
      OpEffects::None);
}
TORCH_LIBRARY_IMPL(antegrad_distributed, CompositeExplicitAutograd, library) {
  library.impl("agree", agree_now);
  library.impl("only_on", only_on);
}

}  // namespace
}  // namespace antegrad::distributed
