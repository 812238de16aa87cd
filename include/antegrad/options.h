#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace torch::nn {
class Module;
}

namespace antegrad {

/// What happens when a function, or one call of it, cannot be captured.
enum class Unsupported {
  Error,  ///< throws antegrad::Error
  Eager,  ///< the call runs uncompiled; Report counts such calls and says why
  Break,  ///< the function is compiled in parts, and what is between them runs uncompiled; Report counts the
          ///< breaks and says why
};

/// Where random numbers come from.
enum class Rng {
  Fused,  ///< a Philox stream, seeded from LibTorch's generator at each call: random ops can be fused, and
          ///< the backward pass can recompute the same numbers
  Eager,  ///< LibTorch's generator: the same numbers as the uncompiled function
};

// --- Dynamic sizes.

/// What happens when sizes change.
enum class Dynamic {
  Auto,  ///< the first call is compiled for its sizes; a size that differs in a later call becomes a symbol
  All,   ///< every size of at least 2 is a symbol from the first call on
  None,  ///< each combination of sizes is compiled separately
};

/// A size that will change: dimension `dim` of tensor number `tensor`, counted from 0 over all arguments.
struct DynamicSize {
  int tensor = 0;                                     ///< position among all tensors of the arguments
  int dim = 0;                                        ///< dimension of the tensor
  int64_t min = 1;                                    ///< smallest size
  int64_t max = std::numeric_limits<int64_t>::max();  ///< largest size
  int64_t multiple = 1;                               ///< the size is a multiple of this
  std::string name;  ///< sizes with the same name are equal; empty for no name

  DynamicSize multiple_of(int64_t n) const {  ///< the same size, as a multiple of n
    auto out = *this;
    out.multiple = n;
    return out;
  }
  DynamicSize named(std::string size) const {  ///< the same size, with a name
    auto out = *this;
    out.name = std::move(size);
    return out;
  }
};
/// Marks a size as dynamic, for Options::dynamic_sizes.
inline DynamicSize dynamic(int tensor, int dim, int64_t min = 1,
                           int64_t max = std::numeric_limits<int64_t>::max()) {
  return {tensor, dim, min, max, 1, {}};
}

// --- How graphs are run.

/// What runs a graph.
enum class Backend {
  Eager,    ///< LibTorch's kernel for each op
  NoFuse,   ///< one generated kernel per op, where code can be generated for it
  Default,  ///< fused kernels
};

/// The compiler for kernels.
enum class ToolchainChoice {
  Auto,    ///< clang in this process if its plugin can be loaded, otherwise the system's C compiler
  Clang,   ///< clang in this process
  System,  ///< the C compiler installed on this machine
};

/// The instruction set that kernels are compiled for.
enum class Isa { Auto, Baseline, Avx2, Avx512 };

/// What happens when a kernel cannot be compiled.
enum class CompileFailure {
  Error,  ///< throws antegrad::Error with source, command line and diagnostics
  Eager,  ///< the graph runs as with Backend::Eager; Report counts such graphs and says why
};

// --- Policies: which values of the forward pass are saved for the backward pass; the others are recomputed
// there.

struct MinCut {};        ///< saves the fewest bytes such that no expensive op is recomputed
struct SaveAll {};       ///< saves whatever the backward pass reads, as eager does
struct RecomputeAll {};  ///< saves only inputs and values that cannot be recomputed
/// Like MinCut, but may recompute expensive ops as well: of the plans that fit, takes the one that recomputes
/// least.
struct MemoryBudget {
  /// Limits the estimated peak of both passes (what they allocate, without their inputs) to `n` bytes.
  static MemoryBudget bytes(int64_t n) { return {n, 1.0}; }
  /// Limits saved bytes to this share of what SaveAll saves; 0 saves as few bytes as possible.
  static MemoryBudget fraction(double share) { return {-1, share}; }
  int64_t peak_bytes = -1;   ///< limit of the estimated peak; -1 for no limit
  double saved_share = 1.0;  ///< limit of the saved bytes, as a share of what SaveAll saves
};

/// What to do with a value: leave it to the policy, save it, or recompute it.
enum class Keep { Auto, Save, Recompute };

/// A value that the backward pass reads, as presented to a UserPolicy.
struct Candidate {
  std::string op;     ///< the op that computes it
  std::string scope;  ///< the antegrad::Scope in which it is computed
  int64_t bytes = 0;  ///< memory needed to save it
  bool dear = false;  ///< whether recomputing it is expensive (a matrix product, a convolution …)
};
/// A user-defined policy.
struct UserPolicy {
  std::string id;  ///< identifies the policy in cache keys: another behaviour needs another id
  std::function<Keep(const Candidate&)> decide;  ///< decides on one value
};
/// What is saved for the backward pass.
using Policy = std::variant<MinCut, SaveAll, RecomputeAll, MemoryBudget, UserPolicy>;

/// Names a part of a program: ops recorded during its lifetime carry its name, prefixed by those of the
/// enclosing scopes.
class Scope {
 public:
  explicit Scope(std::string_view name);  ///< enters the scope; the destructor leaves it
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  size_t outer_length_;
};

/// What to do with values computed in a scope or its inner scopes. Takes precedence over the policy.
struct ScopeRule {
  std::string scope;       ///< name of the scope
  Keep keep = Keep::Auto;  ///< what to do with its values
};

// --- Data parallel training.

/// How gradients are communicated.
struct AllReduceOptions {
  int64_t bucket_bytes = 25 << 20;  ///< gradients that are communicated together
  bool average = true;              ///< divides by the number of processes
};
/// Backward passes add up the gradients of parameters over the processes of a group, see
/// docs/many-processes.md.
struct AllReduce {
  /// `processes`: a distributed::Group.
  template <class Group>
  requires requires(const Group& group) { group.name(), group.size(); }
  AllReduce(const Group& processes, AllReduceOptions options = {})
      : group(processes.name()),
        size(processes.size()),
        bucket_bytes(options.bucket_bytes),
        average(options.average) {}
  std::string group;                ///< name of the group
  int64_t size = 1;                 ///< how many processes the group has
  int64_t bucket_bytes = 25 << 20;  ///< as in AllReduceOptions
  bool average = true;              ///< as in AllReduceOptions
};

/// Whether compiled code is cached on disk. Where: <antegrad/cache.h>.
enum class Cache {
  On,      ///< cached code is loaded; other code is compiled and stored
  Off,     ///< everything is compiled, nothing is stored
  Strict,  ///< a cache miss throws Error(CacheMiss) instead of compiling
};

/// Who waits for compilation.
enum class Compile {
  Blocking,    ///< the call that needs it
  Background,  ///< nobody: the call captures, a background thread compiles, and calls run uncompiled until it
               ///< is done
};

/// The progress of a compilation.
struct Progress {
  std::string_view function;  ///< Options::name
  std::string_view stage;     ///< "capture", "plan", "kernels"
  size_t done = 0;            ///< units of the stage that are done
  size_t total = 0;           ///< units that the stage has
};

/// Modules, as std::shared_ptr or module holders: `options.watch = {net, head.ptr()}`.
class WatchedModules : public std::vector<std::shared_ptr<torch::nn::Module>> {
  using Pointers = std::vector<std::shared_ptr<torch::nn::Module>>;
  template <class T>
  static constexpr bool kIsHolder = requires(const T& holder) {
    holder.ptr();
    holder.is_empty();
  };
  /// A module itself, which nothing would keep alive.
  template <class T>
  static constexpr bool kIsModule = requires(T& module) {
    module.named_parameters();
    module.named_buffers();
  };
  template <class T>
  static auto pointer(const T& module) {
    if constexpr (kIsHolder<T>)
      return module.ptr();
    else
      return module;
  }

 public:
  using Pointers::Pointers;
  using Pointers::operator=;
  WatchedModules() = default;  ///< watches no modules
  /// From a list of pointers.
  WatchedModules(Pointers modules) : Pointers(std::move(modules)) {}
  /// From holders, or holders and pointers.
  template <class... Modules>
  requires((kIsHolder<Modules> || ...)) WatchedModules(const Modules&... modules)
      : Pointers{pointer(modules)...} {}
  /// Rejects modules passed by value, with a static_assert that says why.
  template <class... Modules>
  requires(!(kIsHolder<Modules> || ...) && (kIsModule<Modules> || ...)) WatchedModules(const Modules&...) {
    static_assert(
        (!kIsModule<Modules> && ...),
        "antegrad watches modules that are shared: make it with std::make_shared<Net>() or in a holder "
        "(TORCH_MODULE), and write `options.watch = {net}`");
  }
};

/// Options of compile(), described in docs/options.md. Environment variables override some of them (see
/// there).
struct Options {
  std::string name = "function";                 ///< name in graphs and messages
  Unsupported unsupported = Unsupported::Error;  ///< what happens to functions that cannot be captured
  WatchedModules watch;                          ///< modules that the function uses
  int max_versions = 16;                         ///< maximum number of versions per function
  bool drop_versions = true;                     ///< drops the least recently used of too many versions
  Dynamic dynamic = Dynamic::Auto;               ///< what happens when sizes change
  std::vector<DynamicSize> dynamic_sizes;        ///< sizes that are symbols from the first call on
  int max_sizes = 1024;                          ///< combinations of sizes that a version remembers
  bool compile_all_sizes = false;                ///< also in a stream of sizes that do not repeat
  bool check_recapture = false;                  ///< captures again at each call and compares graphs
  bool verify = false;                           ///< also verifies the graph as captured, before any pass
  std::vector<std::string> disabled_passes;      ///< names of passes to skip
  Rng rng = Rng::Fused;                          ///< source of random numbers
  Policy policy = MinCut{};                      ///< what is saved for the backward pass
  std::vector<ScopeRule> scope_rules;            ///< take precedence over the policy
  std::optional<AllReduce> gradients;            ///< reduces gradients of parameters over processes
  bool writable_inputs = false;                  ///< allows writes to inputs before backward()
  bool freeze = false;                           ///< captured tensors are constants, for inference
  bool backward_ahead = false;                   ///< compiles the backward pass at the first call
  Backend backend = Backend::Default;            ///< how graphs are run
  ToolchainChoice toolchain = ToolchainChoice::Auto;       ///< compiler for kernels
  Isa isa = Isa::Auto;                                     ///< instruction set of kernels
  bool cuda_kernels = true;                                ///< generates kernels for CUDA devices
  CompileFailure compile_failure = CompileFailure::Error;  ///< what happens when a kernel does not compile
  Compile compile = Compile::Blocking;                     ///< who waits for compilation
  std::function<void(const Progress&)> progress;           ///< called with the progress of compilations
  bool debug_compare = false;                              ///< compares each kernel with LibTorch
  Cache cache = Cache::On;                                 ///< whether compiled code is cached on disk
  std::string cache_tag;                                   ///< part of every cache key
};

}  // namespace antegrad
