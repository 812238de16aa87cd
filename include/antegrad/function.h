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

/// What became of lookups in the cache.
struct CacheCounts {
  uint64_t hits = 0;                                    ///< found and used
  uint64_t misses = 0;                                  ///< not there
  uint64_t guard_misses = 0;                            ///< there, but for other sizes
  uint64_t bypasses = 0;                                ///< not looked for: it cannot be cached
  uint64_t corrupt = 0;                                 ///< there, but damaged
  uint64_t refused = 0;                                 ///< there, but not believed
  bool operator==(const CacheCounts&) const = default;  ///< all counts
};

/// What a compiled function has done so far.
struct Report {
  uint64_t calls = 0;                                ///< eager ones included
  uint64_t captures = 0;                             ///< versions: each has code of its own
  uint64_t sizes = 0;                                ///< sets of sizes that versions have been called with
  uint64_t eager_calls = 0;                          ///< with Unsupported::Eager
  uint64_t waiting_calls = 0;                        ///< ran uncompiled while code was made in the background
  std::vector<std::string> eager_reasons;            ///< the error text of each kind met, once
  std::vector<std::string> recapture_reasons;        ///< which guard failed, per capture after the first
  std::vector<std::string> fixed_sizes;              ///< sizes that could not be made symbols, and why
  std::map<std::string, uint64_t> shape_fallbacks;   ///< ops whose shape came from the real kernel on zeros
  uint64_t nodes = 0;                                ///< in the newest graph, after the passes
  uint64_t compile_failures = 0;                     ///< graphs that run eagerly, with CompileFailure::Eager
  std::vector<std::string> compile_failure_reasons;  ///< the error text of each kind met, once
  CacheCounts cache;  ///< one per captured version, and one per backward pass when it is first needed
  std::vector<std::string> cache_reasons;  ///< why something was not a hit, or not stored; each once
  std::vector<std::string> cache_keys;     ///< of the versions, in the order of capture: for `antegrad cache`
  double cache_seconds_saved_forward = 0;  ///< what hits took to compile when they were
  double cache_seconds_saved_backward = 0;  ///< the same for backward passes
};

/// What became of a function, as texts for people.
struct Explanation {
  std::string guards;     ///< what must hold of sizes that may change; "": all sizes are fixed
  std::string reasons;    ///< why the function was captured more than once, a line each
  std::string graph;      ///< as it was captured; forward and backward together
  std::string forward;    ///< what a call runs
  std::string backward;   ///< what backward() runs; "": nothing
  std::string decisions;  ///< which ops became which kernel, which are left to LibTorch, and why
  std::vector<std::pair<std::string, std::string>> sources;  ///< name and C text of each kernel
  std::string toolchain;  ///< what the kernels are compiled with; "": there are none
  std::string isa;        ///< the instruction set they are compiled for; "": there are none
};

namespace detail {

/// One run of the user's function over given tensors: flattened outputs, and the result itself as a pattern
/// for putting real outputs together.
struct Outcome {
  std::vector<at::Tensor> tensors;
  std::shared_ptr<const void> pattern;
  bool eager = false;  ///< nothing was run: the caller runs the function itself
};
using RunOnTensors = c10::function_ref<Outcome(const std::vector<at::Tensor>&)>;
using OwnedRun = std::function<Outcome(const std::vector<at::Tensor>&)>;
/// Makes the same run with everything it needs its own, for derivatives of higher order that are captured
/// later.
using KeepRun = c10::function_ref<OwnedRun()>;

/// The type-erased core of a compiled function. Thread-safe.
class Function {
 public:
  /// Without `effects` what the function does to its arguments is left out.
  explicit Function(Options options, bool effects = true);
  ~Function();
  Function(const Function&) = delete;
  Function& operator=(const Function&) = delete;

  /// `run` and `keep` are called only to capture, and not after the call returns.
  Outcome call(const Leaves& leaves, const RunOnTensors& run, const KeepRun& keep);

  /// As call(), for tensors that nobody needs afterwards. When the code is there, and before it runs,
  /// `let_go` is called to drop what the caller holds of them; each is freed after its last use.
  Outcome consume(Leaves&& leaves, const RunOnTensors& run, const KeepRun& keep,
                  c10::function_ref<void()> let_go);

  /// Captures where call() would, but runs nothing. Throws what capturing throws, also with
  /// Unsupported::Eager.
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

/// Whether this thread is inside a capture: compiled functions called there are inlined.
bool capturing();

/// Lives while a compiled function runs uncompiled.
class PlainRun {
 public:
  PlainRun();
  ~PlainRun();
  PlainRun(const PlainRun&) = delete;
  PlainRun& operator=(const PlainRun&) = delete;
};
/// Whether this thread is inside a compiled function, captured or uncompiled, or in a backward pass.
bool inside_function();

}  // namespace detail
}  // namespace antegrad
