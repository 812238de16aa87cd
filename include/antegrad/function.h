#pragma once
#include <ATen/core/Tensor.h>
#include <c10/util/FunctionRef.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "antegrad/options.h"
#include "antegrad/tree.h"

namespace antegrad {

/// Number of cache lookups by outcome.
struct CacheCounts {
  uint64_t hits = 0;          ///< entry found and used
  uint64_t misses = 0;        ///< no entry found
  uint64_t guard_misses = 0;  ///< entry found, but for other sizes or another state
  uint64_t bypasses = 0;      ///< no lookup: the function cannot be cached
  uint64_t corrupt = 0;       ///< entry found, but damaged
  uint64_t refused = 0;       ///< entry found, but not authenticated or not safely owned
  bool operator==(const CacheCounts&) const = default;  ///< compares all counts
};

/// Statistics of a compiled function since its creation.
struct Report {
  uint64_t calls = 0;                      ///< all calls, eager ones included
  uint64_t captures = 0;                   ///< versions captured; each has its own code
  uint64_t sizes = 0;                      ///< distinct combinations of sizes that versions were called with
  uint64_t eager_calls = 0;                ///< calls run uncompiled: see eager_reasons
  uint64_t waiting_calls = 0;              ///< calls run uncompiled while code was compiled in the background
  std::vector<std::string> eager_reasons;  ///< each distinct error text, once
  std::vector<std::string> recapture_reasons;  ///< the guard that failed, for each capture after the first
  std::vector<std::string> fixed_sizes;        ///< sizes that could not become symbols, and why
  std::map<std::string, uint64_t> shape_fallbacks;   ///< ops whose shape came from the real kernel on zeros
  uint64_t nodes = 0;                                ///< nodes of the newest graph after the passes
  uint64_t compile_failures = 0;                     ///< graphs run eagerly because of CompileFailure::Eager
  std::vector<std::string> compile_failure_reasons;  ///< each distinct error text, once
  CacheCounts cache;  ///< one lookup per captured version, and one per backward pass when it is first needed
  std::vector<std::string> cache_reasons;  ///< why an entry was not a hit or was not stored; each reason once
  std::vector<std::string> cache_keys;     ///< keys of the versions in order of capture, for `antegrad cache`
  double cache_seconds_saved_forward = 0;  ///< compile time that cache hits of forward passes saved
  double cache_seconds_saved_backward = 0;  ///< compile time that cache hits of backward passes saved
};

/// How a function was compiled, as human-readable text.
struct Explanation {
  std::string guards;     ///< conditions on the sizes that may change; empty when all sizes are fixed
  std::string reasons;    ///< why the function was captured more than once, one line per reason
  std::string graph;      ///< the captured graph, forward and backward pass together
  std::string forward;    ///< the graph that a call runs
  std::string backward;   ///< the graph that backward() runs; empty when there is none
  std::string decisions;  ///< which ops were fused into which kernel, which are left to LibTorch, and why
  std::vector<std::pair<std::string, std::string>> sources;  ///< name and C source of each kernel
  std::string toolchain;  ///< the compiler of the kernels; empty when there are none
  std::string isa;        ///< the instruction set of the kernels; empty when there are none
};

namespace detail {

/// The outcome of one run of the user's function over given tensors: its flattened outputs, and its result as
/// a pattern from which real results are rebuilt.
struct Outcome {
  std::vector<at::Tensor> tensors;
  std::shared_ptr<const void> pattern;
  bool eager = false;  ///< nothing was run: the caller has to run the function itself
};
using RunOnTensors = c10::function_ref<Outcome(const std::vector<at::Tensor>&)>;
using OwnedRun = std::function<Outcome(const std::vector<at::Tensor>&)>;
/// Returns a run that owns everything it needs, for higher-order derivatives that are captured later.
using KeepRun = c10::function_ref<OwnedRun()>;

/// The type-erased core of a compiled function. Thread-safe.
class Function {
 public:
  /// When `effects` is false, writes of the function to its arguments are not carried out.
  explicit Function(Options options, bool effects = true);
  ~Function();
  Function(const Function&) = delete;
  Function& operator=(const Function&) = delete;

  /// Calls `run` and `keep` only in order to capture, and never after it has returned.
  Outcome call(const Leaves& leaves, const RunOnTensors& run, const KeepRun& keep);

  /// Like call(), for tensors that are not needed afterwards. Once the code is ready and before it runs,
  /// `let_go` is called to drop the caller's references to them; each tensor is freed after its last use.
  Outcome consume(Leaves&& leaves, const RunOnTensors& run, const KeepRun& keep,
                  c10::function_ref<void()> let_go);

  /// Captures if call() would, but runs nothing. Throws capture errors, even with Unsupported::Eager.
  Explanation explain(const Leaves& leaves, const RunOnTensors& run, const KeepRun& keep);

  Report report() const;
  std::string graph_text() const;
  std::string forward_text() const;
  std::string backward_text() const;
  std::string partition_text() const;
  std::string signature_text() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Returns whether this thread is capturing. Compiled functions called during a capture are inlined into it.
bool capturing();

/// Marks, for its lifetime, that a compiled function is running uncompiled on this thread.
class PlainRun {
 public:
  PlainRun();
  ~PlainRun();
  PlainRun(const PlainRun&) = delete;
  PlainRun& operator=(const PlainRun&) = delete;
};
/// Returns whether this thread is in a compiled function, captured or uncompiled, or in a backward pass.
bool inside_function();

}  // namespace detail
}  // namespace antegrad
