#pragma once
// Derivatives of any order of two functions of the same tensors, compared.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <string>
#include <vector>

#include "support/same_as_eager.h"

namespace antegrad::test {

/// Returns what `function` returns for these leaves, then the gradients of its sums by the leaves, of sums of
/// functions of these, and so on. Undefined gradients stay undefined.
template <class F>
std::vector<at::Tensor> derivatives(const F& function, const std::vector<at::Tensor>& leaves, int order) {
  auto results = function();
  std::vector<at::Tensor> all(results.begin(), results.end());
  for (int k = 0; k < order; ++k) {
    at::Tensor sum;
    for (const auto& result : results) {
      if (!result.defined() || !result.requires_grad()) continue;
      const auto part = (result * (result.detach() * 0.5 + 1.25)).sum();
      sum = sum.defined() ? sum + part : part;
    }
    if (!sum.defined()) {  // zero from here on
      results.assign(leaves.size(), {});
      all.insert(all.end(), leaves.size(), {});
      continue;
    }
    results = torch::autograd::grad({sum}, leaves, {}, k + 1 < order, k + 1 < order, true);
    for (const auto& result : results) all.push_back(result.defined() ? result.detach() : result);
  }
  return all;
}

/// Undefined gradients count as zeros: which branch has run is not known when a graph is captured.
inline void expect_same_derivatives(const std::vector<at::Tensor>& eager,
                                    const std::vector<at::Tensor>& compiled, const std::string& what = "") {
  ASSERT_EQ(eager.size(), compiled.size()) << what;
  for (size_t i = 0; i < eager.size(); ++i) {
    if (!eager[i].defined() && !compiled[i].defined()) continue;
    const auto a = eager[i].defined() ? eager[i] : torch::zeros_like(compiled[i]);
    const auto b = compiled[i].defined() ? compiled[i] : torch::zeros_like(eager[i]);
    ASSERT_EQ(a.sizes(), b.sizes()) << what << " tensor " << i;
    ASSERT_EQ(a.dtype(), b.dtype()) << what << " tensor " << i;
    // Sums of many terms that cancel: what they are summed from is as large as the largest element.
    const double unit = a.scalar_type() == at::kDouble ? 1e-10 : 1e-4;
    const double most = a.numel() == 0 ? 0 : a.detach().abs().max().item<double>();
    EXPECT_TRUE(at::allclose(a.detach(), b.detach(), unit, unit * most)) << what << " tensor " << i << ":\n"
                                                                         << a << "\n"
                                                                         << b;
  }
}

}  // namespace antegrad::test
