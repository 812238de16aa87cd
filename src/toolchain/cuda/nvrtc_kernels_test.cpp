// NVRTC compiles the text of generated kernels: those of three models, scheduled for a CUDA device, and
// random ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "codegen/cuda/kernel_source.h"
#include "codegen/text/expression.h"
#include "graph/golden.h"
#include "ir/text.h"
#include "kernels/random_kernel.h"
#include "passes/pipelines.h"
#include "schedule/program.h"
#include "toolchain/cuda/nvrtc.h"

namespace antegrad {
namespace {

namespace cuda = toolchain::cuda;

/// Puts every tensor on the device, except states of random numbers.
ir::Graph on_cuda(ir::Graph graph) {
  for (auto& value : graph.values)
    if (auto* tensor = value.type.tensor()) tensor->device = {ir::Device::Kind::Cuda, 0};
  for (const auto& input : graph.inputs)
    if (input.role == ir::InputRole::RngState) graph.values[input.value].type.tensor()->device = {};
  return graph;
}

std::vector<ir::Graph> graphs_of(const std::string& model) {
  const auto text =
      read_text(std::filesystem::path(ANTEGRAD_SOURCE_DIR) / "tests/data/programs" / (model + ".graphs"));
  std::vector<ir::Graph> graphs;
  for (size_t at = 0; at < text.size();) {
    const auto end = text.find("\n}\n", at) + 3;
    graphs.push_back(on_cuda(ir::parse(text.substr(at, end - at))));
    at = end;
  }
  return graphs;
}

std::vector<schedule::Kernel> kernels_of(const std::string& model, const schedule::DeviceFacts& facts) {
  std::vector<schedule::Kernel> kernels;
  for (auto& graph : graphs_of(model)) {
    passes::run_pipeline(graph, passes::passes_of("before_fusion"), {});
    schedule::Settings settings;
    settings.supports = codegen::expression_supported;
    settings.cuda = schedule::cuda_target(facts);
    auto program = schedule::schedule(graph, settings);
    for (auto& kernel : program.kernels) {
      EXPECT_EQ(kernel.device, ir::Device::Kind::Cuda) << kernel.name;
      kernels.push_back(std::move(kernel));
    }
  }
  return kernels;
}

/// Compiles both variants of each kernel.
void expect_compiles(const std::vector<schedule::Kernel>& kernels, schedule::DeviceFacts facts) {
  std::vector<std::string> sources;
  for (const auto& kernel : kernels)
    for (const bool vectors : {true, false}) {
      const auto mapping = codegen::cuda::map_kernel(kernel, facts, vectors);
      if (!vectors) EXPECT_TRUE(mapping.aligned.empty()) << kernel.name;
      sources.push_back(codegen::cuda::unit_source(kernel, mapping));
    }
  const auto objects =
      toolchain::compile_all(*cuda::nvrtc_toolchain(), sources, toolchain::CudaArch{facts.capability});
  // Besides the kernel, a cubin may hold functions of NVIDIA's for rare cases of divisions and roots.
  for (size_t i = 0; i < objects.size(); ++i)
    EXPECT_EQ(std::ranges::count(objects[i].symbols, kernels[i / 2].name), 1) << sources[i];
}

class NvrtcKernels : public ::testing::TestWithParam<int32_t> {
 protected:
  void SetUp() override {
    if (!cuda::nvrtc().problem.empty()) GTEST_SKIP() << "missing: libnvrtc (" << cuda::nvrtc().problem << ")";
    facts_.capability = GetParam();
    if (GetParam() < 90) facts_.shared_per_block = 163 * 1024;
  }
  schedule::DeviceFacts facts_;
};

TEST_P(NvrtcKernels, OfModels) {
  for (const auto* model : {"small", "mem", "pot"}) {
    const auto kernels = kernels_of(model, facts_);
    EXPECT_GE(kernels.size(), 2U) << model;
    expect_compiles(kernels, facts_);
  }
}

TEST_P(NvrtcKernels, OfRandomPrograms) {
  std::vector<schedule::Kernel> kernels;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    auto kernel = schedule::RandomKernel(seed).make().kernel;
    kernel.device = ir::Device::Kind::Cuda;
    kernel.name += std::to_string(seed);
    kernels.push_back(std::move(kernel));
  }
  expect_compiles(kernels, facts_);
}

INSTANTIATE_TEST_SUITE_P(Architectures, NvrtcKernels, ::testing::Values(80, 90),
                         [](const auto& info) { return "sm_" + std::to_string(info.param); });

}  // namespace
}  // namespace antegrad
