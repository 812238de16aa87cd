#include "compiler/plan/lowering.h"

#include <fmt/format.h>

#include <algorithm>

#include "antegrad/error.h"
#include "codegen/cpu/kernel_source.h"
#include "codegen/cuda/kernel_source.h"
#include "codegen/text/expression.h"
#include "compiler/cache/function_cache.h"
#include "compiler/plan/progress.h"
#include "ir/verify.h"
#include "passes/pipelines.h"
#include "runtime/plan/index_checks.h"
#include "schedule/splice.h"
#include "toolchain/cuda/nvrtc.h"
#include "trace/trace.h"
#include "util/process_end.h"
#include "util/reasons.h"

namespace antegrad::compiler {
namespace {

toolchain::Isa isa_of(const Options& options) {
  const auto here = toolchain::detect_isa();
  const auto wanted = instruction_set(options.isa);
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

/// Returns the devices of the graph's tensors that are not the CPU, each once.
std::vector<ir::Device> devices_of(const ir::Graph& graph) {
  std::vector<ir::Device> devices;
  for (const auto& value : graph.values)
    if (const auto* tensor = value.type.tensor();
        tensor != nullptr && tensor->device.kind != ir::Device::Kind::Cpu)
      if (std::ranges::find(devices, tensor->device) == devices.end()) devices.push_back(tensor->device);
  return devices;
}

const toolchain::Toolchain& nvrtc() {
  static const auto& toolchain = *new const toolchain::ToolchainPtr(toolchain::cuda::nvrtc_toolchain());
  return *toolchain;
}

}  // namespace

Lowered::Lowered(const ir::Graph& graph) : is_eager_(true) { program_.graph = graph; }

Lowered::Lowered(schedule::Program program, std::vector<LoadedKernel> kernels, bool compare)
    : program_(std::move(program)), kernels_(std::move(kernels)), is_eager_(false), compare_(compare) {
  program_.decisions.clear();  // for people only, as are the texts
  for (auto& kernel : program_.kernels) schedule::remove_texts(kernel, /*all=*/false);
  checks_ = runtime::index_checks(program_);
}

void Lowered::at(const std::vector<int64_t>& symbols,
                 const std::function<void(const schedule::Program&)>& use) const {
  if (symbols.empty()) return use(program_);
  const std::scoped_lock lock(sized_mutex_);
  if (!sized_) sized_ = std::make_unique<schedule::SizedProgram>(program_, compare_);
  use(sized_->at(symbols));
}

toolchain::Isa instruction_set(Isa option) {
  switch (option) {
    case Isa::Baseline:
      return toolchain::Isa::Baseline;
    case Isa::Avx2:
      return toolchain::Isa::Avx2;
    case Isa::Avx512:
      return toolchain::Isa::Avx512;
    case Isa::Auto:
      break;
  }
  return toolchain::detect_isa();
}

/// Lowering does not need watched modules, and owning them would hide that one is replaced (watch.h).
static Options without_modules(Options options) {
  options.watch.clear();
  return options;
}

Lowering::Lowering(const Options& options) : options_(without_modules(options)), isa_(isa_of(options)) {}

const toolchain::Toolchain& Lowering::toolchain() const {
  std::call_once(toolchain_once_, [&] { toolchain_ = toolchain_of(options_.toolchain); });
  return *toolchain_;
}

std::string Lowering::toolchain_name() const {
  if (options_.backend == Backend::Eager) return "none";
  if (options_.toolchain == ToolchainChoice::Auto) return toolchain::default_toolchain_name();
  return toolchain().name();
}

KernelTarget Lowering::target(std::optional<schedule::DeviceFacts> facts) const {
  KernelTarget target;
  target.cpu = {toolchain_name(), isa_, [this]() -> const toolchain::Toolchain& { return toolchain(); }};
  target.facts = facts;
  if (target.facts)
    target.cuda = {toolchain::cuda::nvrtc_name(), toolchain::CudaArch{target.facts->capability}, nvrtc};
  target.caches = usable_caches(options_);
  if (options_.progress)
    target.progress = [this](size_t done, size_t total) { tell_progress(options_, "kernels", done, total); };
  return target;
}

std::string Lowering::why_no_kernels(const ir::Graph& graph) const {
  if (options_.backend == Backend::Eager) return "Options::backend is Eager";
  const auto devices = devices_of(graph);
  if (devices.empty()) return {};
  if (devices.size() > 1) return "its tensors are on several devices besides the CPU";
  if (devices[0].kind != ir::Device::Kind::Cuda)
    return fmt::format("there is no generated code for {}", ir::to_string(devices[0]));
  return why_no_cuda_kernels();
}

std::string Lowering::why_no_cuda_kernels() const {
  if (!options_.cuda_kernels) return "Options::cuda_kernels is off";
  return toolchain::cuda::driver().problem;
}

std::optional<schedule::DeviceFacts> Lowering::cuda_facts(const ir::Graph& graph) const {
  const auto devices = devices_of(graph);
  if (devices.empty() || !why_no_kernels(graph).empty()) return std::nullopt;
  return toolchain::cuda::device_facts(devices[0].index);
}

std::string Lowering::cuda_name(const ir::Graph& graph) const {
  const auto facts = cuda_facts(graph);
  if (!facts) return {};
  return fmt::format("{} sm_{}: {} multiprocessors of {} threads, {} bytes of shared memory, {} of L2",
                     toolchain::cuda::nvrtc_name(), facts->capability, facts->multiprocessors,
                     facts->threads_per_multiprocessor, facts->shared_per_block, facts->l2_bytes);
}

void Lowering::prepare(ir::Graph& graph) const {
  const trace::Span span("passes before fusion");
  passes::PipelineOptions pipeline;
  pipeline.disabled = options_.disabled_passes;
  pipeline.verify = true;
  passes::run_pipeline(graph, passes::passes_of("before_fusion"), pipeline);
}

schedule::Program Lowering::program(const ir::Graph& graph, bool deterministic) const {
  const trace::Span span("schedule");
  schedule::Settings settings;
  settings.fuse = options_.backend != Backend::NoFuse;
  settings.supports = codegen::expression_supported;
  if (const auto facts = cuda_facts(graph)) settings.cuda = schedule::cuda_target(*facts, deterministic);
  const auto program_of = [&](const ir::Graph& called) { return this->program(called, deterministic); };
  auto program = schedule::splice(schedule::schedule(graph, settings), program_of);
  ir::verify(program.graph);  // the memory plan relies on it
  return program;
}

std::string Lowering::source(const schedule::Kernel& kernel, const ir::Graph& graph) const {
  const auto facts = cuda_facts(graph);
  if (kernel.device == ir::Device::Kind::Cuda && facts)
    return codegen::cuda::unit_source(kernel, codegen::cuda::map_kernel(kernel, *facts));
  return codegen::cpu::unit_source({&kernel});
}

std::vector<LoadedKernel> Lowering::kernels(const schedule::Program& program) const {
  if (program.kernels.empty()) return {};
  return make_kernels(program.kernels, target(cuda_facts(program.graph)));
}

LoadedKernel Lowering::cuda_kernel(const std::string& name, const std::string& text,
                                   const schedule::DeviceFacts& facts) const {
  return make_cuda_kernel(name, text, target(facts));
}

void Lowering::tolerate(const Error& error) const {
  // Calls from static destructors still get their results.
  const bool ending = dynamic_cast<const process_end::Ending*>(&error) != nullptr;
  if (!ending && (error.code() != ErrorCode::Compile || options_.compile_failure != CompileFailure::Eager))
    throw;
  trace::warn("compile_failure", error.what(), "That pass runs op by op with LibTorch's kernels");
  std::scoped_lock lock(mutex_);
  ++failures_.count;
  append_unique(failures_.reasons, error.what());
}

Lowering::Failures Lowering::failures() const {
  std::scoped_lock lock(mutex_);
  return failures_;
}

}  // namespace antegrad::compiler
