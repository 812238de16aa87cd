#pragma once
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "antegrad/error.h"
#include "antegrad/options.h"
#include "compiler/cache/cache_log.h"
#include "compiler/cache/kernel_cache.h"
#include "ir/graph.h"
#include "runtime/executable.h"
#include "schedule/program.h"
#include "toolchain/toolchain.h"
#include "util/fork_mutex.h"

namespace antegrad::compiler {

/// A graph as code, for all values of its symbols. Immutable.
class Lowered {
 public:
  /// Every op is run by LibTorch.
  explicit Lowered(const ir::Graph& graph);
  Lowered(schedule::Program program, std::vector<LoadedKernel> kernels, bool compare = false);
  /// `symbols`: a value for each.
  std::shared_ptr<const runtime::Executable> at(const std::vector<int64_t>& symbols) const;

  bool is_eager() const { return is_eager_; }
  const schedule::Program& program() const { return program_; }
  const std::vector<LoadedKernel>& kernels() const { return kernels_; }

 private:
  schedule::Program program_;
  std::vector<LoadedKernel> kernels_;
  bool is_eager_;
  bool compare_ = false;
};

/// The backend of one function: from graphs to executables, as its options say. Thread-safe.
class Lowering {
 public:
  /// Throws Error(InvalidArgument) for an instruction set that this machine does not have.
  explicit Lowering(const Options& options);

  /// Whether kernels are made for the graph at all.
  bool makes_kernels(const ir::Graph& graph) const;
  /// The passes that make a joint (or functional) graph one that fuses well.
  void prepare(ir::Graph& graph) const;
  schedule::Program program(const ir::Graph& graph) const;
  /// Throws Error(Compile).
  std::vector<LoadedKernel> kernels(const schedule::Program& program) const;
  /// Notes a failure to make code where LibTorch may run every op instead: at the end of the process, and as
  /// Options::compile_failure says. Throws it on elsewhere. To be called where it is caught.
  void tolerate(const Error& error) const;
  /// What compiles kernels, or will: known without opening it.
  std::string toolchain_name() const;
  std::string isa_name() const { return std::string(toolchain::isa_name(isa_)); }

  struct Failures {
    uint64_t count = 0;
    std::vector<std::string> reasons;  ///< each once
  };
  Failures failures() const;
  bool debug_compare() const { return options_.debug_compare; }
  CacheLog& cache_log() const { return cache_log_; }

 private:
  KernelTarget target() const;
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
