#include "compiler/lowering.h"

#include <fmt/format.h>

#include <algorithm>

#include "antegrad/error.h"
#include "codegen/cpu/expression.h"
#include "compiler/kernel_cache.h"
#include "passes/pipeline.h"

namespace antegrad::compiler {
namespace {

toolchain::Isa isa_of(const Options& options) {
  const auto here = toolchain::detect_isa();
  toolchain::Isa wanted = here;
  if (options.isa == Isa::Baseline) wanted = toolchain::Isa::Baseline;
  if (options.isa == Isa::Avx2) wanted = toolchain::Isa::Avx2;
  if (options.isa == Isa::Avx512) wanted = toolchain::Isa::Avx512;
  if (wanted > here)
    throw Error(
        ErrorCode::InvalidArgument, "options",
        fmt::format("this machine runs {}, not {}", toolchain::isa_name(here), toolchain::isa_name(wanted)),
        "Set Options::isa to Auto");
  return wanted;
}

toolchain::ToolchainPtr toolchain_of(ToolchainChoice choice) {
  switch (choice) {
    case ToolchainChoice::Clang:
      return toolchain::clang_toolchain();
    case ToolchainChoice::System:
      return toolchain::system_toolchain();
    case ToolchainChoice::Auto:
      break;
  }
  return toolchain::default_toolchain();
}

bool is_elsewhere(const ir::Value& value) {
  const auto* tensor = value.type.tensor();
  return tensor != nullptr && tensor->device.kind != ir::Device::Kind::Cpu;
}

}  // namespace

Lowering::Lowering(const Options& options) : options_(options), isa_(isa_of(options)) {}

const toolchain::Toolchain& Lowering::toolchain() const {
  std::call_once(toolchain_once_, [&] { toolchain_ = toolchain_of(options_.toolchain); });
  return *toolchain_;
}

std::string Lowering::toolchain_name() const {
  return options_.backend == Backend::Eager ? "none" : toolchain().name();
}

bool Lowering::makes_kernels(const ir::Graph& graph) const {
  return options_.backend != Backend::Eager &&
         std::none_of(graph.values.begin(), graph.values.end(), is_elsewhere);
}

void Lowering::prepare(ir::Graph& graph) const {
  passes::PipelineOptions pipeline;
  pipeline.disabled = options_.disabled_passes;
  pipeline.verify = options_.verify;
  std::vector<passes::Pass> passes;
  for (const auto* name : {"decompose", "small_matmul", "common_subexpressions", "dead_code"})
    passes.push_back(passes::find_pass(name));
  passes::run_pipeline(graph, passes, pipeline);
}

schedule::Program Lowering::program(const ir::Graph& graph) const {
  schedule::Settings settings;
  settings.fuse = options_.backend != Backend::NoFuse;
  settings.supports = codegen::cpu::expression_supported;
  return schedule::schedule(graph, settings);
}

std::shared_ptr<const runtime::Executable> Lowering::lower(const ir::Graph& graph) const {
  try {
    const auto scheduled = program(graph);
    std::vector<runtime::KernelCode> kernels;
    if (!scheduled.kernels.empty()) kernels = load_kernels(scheduled.kernels, toolchain(), isa_);
    return std::make_shared<const runtime::Executable>(scheduled, kernels, options_.debug_compare);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::Compile || options_.compile_failure != CompileFailure::Eager) throw;
    std::scoped_lock lock(mutex_);
    ++failures_.count;
    auto& reasons = failures_.reasons;
    if (std::find(reasons.begin(), reasons.end(), error.what()) == reasons.end())
      reasons.emplace_back(error.what());
  }
  return std::make_shared<const runtime::Executable>(graph);
}

Lowering::Failures Lowering::failures() const {
  std::scoped_lock lock(mutex_);
  return failures_;
}

}  // namespace antegrad::compiler
