// The workloads of the benchmarks at small sizes, compiled and eager: what the benchmarks measure gives right
// results.
#include "workloads.h"

#include <antegrad/antegrad.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "support/closeness.h"
#include "support/device.h"
#include "support/seeds.h"

namespace antegrad::benchmarks {
namespace {

Workload make(const std::string& name, at::ScalarType type) {
  test::manual_seed(7);
  auto workload = make_workload(name, Scale::Small);
  for (auto* tensors : {&workload.parameters, &workload.inputs})
    for (auto& tensor : *tensors)
      if (tensor.is_floating_point())
        tensor = tensor.detach().to(type).clone().set_requires_grad(tensor.requires_grad());
  if (test::device().is_cuda()) move_to(test::device(), workload);
  return workload;
}

/// Returns what two steps leave: the losses, all gradients, and all inputs (some are written).
template <class Loss>
Tensors train(const Workload& workload, const Loss& loss_of) {
  Tensors out;
  for (int step = 0; step < 2; ++step) {
    test::manual_seed(step);
    auto loss = loss_of(workload.parameters, workload.inputs);
    loss.backward();
    out.push_back(loss.detach());
  }
  for (const auto& parameter : workload.parameters) out.push_back(parameter.grad());
  for (const auto& input : workload.inputs) {
    out.push_back(input.detach());
    if (input.requires_grad()) out.push_back(input.grad());
  }
  return out;
}

class Workloads : public ::testing::TestWithParam<std::string> {
 protected:
  void compare(at::ScalarType type) {
    if (!test::missing_device().empty()) GTEST_SKIP() << test::missing_device();
    if (test::device().is_cuda() && GetParam().ends_with("_module"))
      GTEST_SKIP() << "recurrent modules are refused on CUDA devices";
    test::Reference eager([&] {
      const auto workload = make(GetParam(), type);
      return train(workload, workload.loss);
    });
    const auto compiled = make(GetParam(), type);
    Options options;
    options.name = GetParam();
    options.rng = Rng::Eager;  // dropout and the VAE must draw the same numbers
    options.verify = true;
    const auto function = compile(compiled.loss, options);
    EXPECT_EQ(eager.difference(train(compiled, function)), std::nullopt);
    EXPECT_EQ(function.report().captures, 1U);
    EXPECT_EQ(function.report().eager_calls, 0U);
    EXPECT_EQ(function.graph().find(" ordered"), std::string::npos);  // no op is kept only for its errors
  }
};

TEST_P(Workloads, AsEagerInFloat) { compare(at::kFloat); }
TEST_P(Workloads, AsEagerInDouble) { compare(at::kDouble); }

INSTANTIATE_TEST_SUITE_P(All, Workloads, ::testing::ValuesIn(workload_names(WorkloadSet::All)),
                         [](const auto& name) { return name.param; });

}  // namespace
}  // namespace antegrad::benchmarks
