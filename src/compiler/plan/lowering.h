#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "antegrad/error.h"
#include "antegrad/options.h"
#include "compiler/cache/cache_log.h"
#include "compiler/cache/kernel_cache.h"
#include "ir/graph.h"
#include "runtime/plan/index_checks.h"
#include "schedule/sized_program.h"
#include "toolchain/toolchain.h"
#include "util/fork_mutex.h"

namespace antegrad::compiler {

/// The code of a graph for all values of its symbols, of which make_executable() makes something to run.
/// Immutable.
class Lowered {
 public:
  /// LibTorch runs every op.
  explicit Lowered(const ir::Graph& graph);
  Lowered(schedule::Program program, std::vector<LoadedKernel> kernels, bool compare = false);

  bool is_eager() const { return is_eager_; }
  const schedule::Program& program() const { return program_; }
  /// Calls `use` with the program at these sizes, for one thread at a time. `use` must not keep it.
  void at(const std::vector<int64_t>& symbols,
          const std::function<void(const schedule::Program&)>& use) const;
  const std::vector<LoadedKernel>& kernels() const { return kernels_; }
  const std::shared_ptr<const runtime::IndexChecks>& checks() const { return checks_; }
  /// Whether the results of each kernel are to be compared with LibTorch's.
  bool compares() const { return compare_; }

 private:
  schedule::Program program_;
  std::vector<LoadedKernel> kernels_;
  std::shared_ptr<const runtime::IndexChecks> checks_;  ///< over symbols; null where no kernel may fail
  mutable BriefMutex sized_mutex_;
  mutable std::unique_ptr<schedule::SizedProgram> sized_;  ///< made when sizes are first given
  bool is_eager_;
  bool compare_ = false;
};

/// Returns the instruction set that kernels are compiled for: the one that the option names, or for
/// Isa::Auto the largest one of this machine.
toolchain::Isa instruction_set(Isa option);

/// The backend of one function: turns graphs into executables according to its options. Thread-safe.
class Lowering {
 public:
  /// Throws Error(InvalidArgument) for an instruction set that this machine lacks.
  explicit Lowering(const Options& options);

  /// Whether the graph is compiled to kernels at all.
  bool makes_kernels(const ir::Graph& graph) const { return why_no_kernels(graph).empty(); }
  /// Returns why LibTorch runs every op of the graph; empty when kernels are generated for it.
  std::string why_no_kernels(const ir::Graph& graph) const;
  /// Returns the facts of the CUDA device that kernels for the graph are generated for, if there is one.
  std::optional<schedule::DeviceFacts> cuda_facts(const ir::Graph& graph) const;
  /// Returns what identifies the code generated for CUDA devices, for cache keys; "" for graphs without any.
  std::string cuda_name(const ir::Graph& graph) const;
  /// Runs the passes that prepare a joint or functional graph for fusion.
  void prepare(ir::Graph& graph) const;
  /// `deterministic`: whether results must be the same in every run, also of sums in any order.
  schedule::Program program(const ir::Graph& graph, bool deterministic) const;
  /// Returns the text that is compiled for a kernel of a program for the graph.
  std::string source(const schedule::Kernel& kernel, const ir::Graph& graph) const;
  /// Throws Error(Compile).
  std::vector<LoadedKernel> kernels(const schedule::Program& program) const;
  /// Returns the code of a kernel for a CUDA device that is given as text: as make_cuda_kernel(). Throws
  /// Error(Compile).
  LoadedKernel cuda_kernel(const std::string& name, const std::string& text,
                           const schedule::DeviceFacts& facts) const;
  /// Returns why there are no kernels for CUDA devices; empty when they are generated.
  std::string why_no_cuda_kernels() const;
  /// Records a compile failure for which LibTorch may run every op instead: while the process ends, or when
  /// Options::compile_failure allows it. Rethrows it otherwise. Must be called inside the catch block.
  void tolerate(const Error& error) const;
  /// Returns the name of the toolchain that compiles kernels, without opening it if possible.
  std::string toolchain_name() const;
  std::string isa_name() const { return std::string(toolchain::isa_name(isa_)); }

  struct Failures {
    uint64_t count = 0;
    std::vector<std::string> reasons;  ///< without duplicates
  };
  Failures failures() const;
  bool debug_compare() const { return options_.debug_compare; }
  const std::optional<AllReduce>& gradients() const { return options_.gradients; }
  CacheLog& cache_log() const { return cache_log_; }

 private:
  KernelTarget target(std::optional<schedule::DeviceFacts> facts) const;
  const toolchain::Toolchain& toolchain() const;

  const Options options_;
  toolchain::Isa isa_;
  mutable std::once_flag toolchain_once_;
  mutable toolchain::ToolchainPtr toolchain_;
  mutable BriefMutex mutex_;
  mutable Failures failures_;
  mutable CacheLog cache_log_;
};

}  // namespace antegrad::compiler
