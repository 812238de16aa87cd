#include <fmt/format.h>

#include "antegrad/compile.h"
#include "antegrad/error.h"

namespace antegrad {
namespace {

[[noreturn]] void refuse_donation(const std::string& fact, const char* way_out) {
  throw Error(ErrorCode::InvalidArgument, "donate", fact, way_out);
}

void check_donation(const at::Tensor& tensor) {
  if (!tensor.defined())
    refuse_donation("the tensor is undefined: it was given away before, or never made",
                    "Do not use a tensor after donate(), or assign another one first");
  const auto described = fmt::format("the tensor of sizes {}", c10::str(tensor.sizes()));
  if (tensor.use_count() > 1)
    refuse_donation(fmt::format("{} has {} owners", described, tensor.use_count()),
                    "Give away a tensor that no other variable, container or autograd graph refers to");
  if (!tensor.has_storage()) return;
  if (tensor.storage().use_count() > 1)
    refuse_donation(fmt::format("{} shares its memory with another tensor", described),
                    "Give away a tensor that has no views and is none itself, or a clone()");
  if (!tensor.storage().resizable())
    refuse_donation(fmt::format("the memory of {} is not LibTorch's", described),
                    "Give away a clone() of a tensor that was made with from_blob()");
}

}  // namespace

Donated donate(at::Tensor& tensor) {
  check_donation(tensor);
  if (tensor.has_storage()) tensor.mutable_data_ptr();  // a lazy copy gets memory of its own
  return Donated(std::move(tensor));
}
Donated donate(at::Tensor&& tensor) { return donate(tensor); }

}  // namespace antegrad
