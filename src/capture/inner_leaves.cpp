#include "capture/inner_leaves.h"

#include <c10/util/StringUtil.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <optional>

#include "antegrad/error.h"

namespace antegrad::capture {

std::vector<const c10::TensorImpl*> inner_leaves(const Recorder& recorder, const Arguments& arguments,
                                                 const std::vector<GradRoot>& roots) {
  std::vector<const c10::TensorImpl*> leaves;
  std::optional<Reached> reached;
  for (const auto& fake : recorder.fakes().all()) {
    const auto* meta = torch::autograd::impl::get_autograd_meta(fake);
    const bool is_argument = std::any_of(arguments.own.begin(), arguments.own.end(),
                                         [&](const at::Tensor& own) { return own.is_same(fake); });
    if (meta == nullptr || !meta->requires_grad_ || is_argument) continue;
    const auto accumulator = torch::autograd::impl::try_get_grad_accumulator(fake);
    if (!accumulator) continue;
    if (!reached) reached.emplace(roots);
    for (size_t r = 0; r < roots.size(); ++r)
      if (reached->from(r, accumulator.get())) {
        leaves.push_back(fake.unsafeGetTensorImpl());
        break;
      }
  }
  return leaves;
}

void check_stored_leaves(const KeptTensors& kept, const std::vector<const c10::TensorImpl*>& leaves) {
  for (const auto& fake : kept.fakes)
    if (std::find(leaves.begin(), leaves.end(), fake.unsafeGetTensorImpl()) != leaves.end())
      throw Error(ErrorCode::NeedsGrad, "capture",
                  c10::str("the function makes a leaf of shape ", fake.sizes(),
                           " and stores it, and gradients of its outputs reach it"),
                  "Make the leaf before the function is called (the next call finds it stored), or set "
                  "Options::unsupported to Eager or Break");
}

}  // namespace antegrad::capture
