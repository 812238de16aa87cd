#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace torch::nn {
class Module;
}

namespace antegrad {

/// What to do with a function, or a call of it, that cannot be captured.
enum class Unsupported {
  Error,  ///< throw antegrad::Error
  Eager,  ///< run it uncompiled; Report counts such calls and says why
};

/// Where random numbers come from.
enum class Rng {
  Fused,  ///< a Philox stream, seeded from LibTorch's generator at each call: random ops fuse, and the
          ///< backward pass makes the same numbers again
  Eager,  ///< LibTorch's generator: the numbers are those of the uncompiled function
};

// --- Sizes that change from call to call.

/// What happens when sizes change.
enum class Dynamic {
  Auto,  ///< the first call is compiled for its sizes; a size that differs later is made a symbol
  All,   ///< every size that is at least 2 is a symbol from the first call on
  None,  ///< each combination of sizes is compiled for itself
};

/// A size that will change: of tensor number `tensor`, counted over all arguments in order.
struct DynamicSize {
  int tensor = 0;                                     ///< number of the tensor
  int dim = 0;                                        ///< which of its sizes
  int64_t min = 1;                                    ///< the smallest it will be
  int64_t max = std::numeric_limits<int64_t>::max();  ///< the largest it will be
  int64_t multiple = 1;                               ///< it is a multiple of this
  std::string name;                                   ///< sizes of one name are equal; "": it has none

  DynamicSize multiple_of(int64_t n) const {  ///< it is a multiple of n
    auto out = *this;
    out.multiple = n;
    return out;
  }
  DynamicSize named(std::string size) const {  ///< sizes of one name are equal
    auto out = *this;
    out.name = std::move(size);
    return out;
  }
};
/// Marks a size in Options::dynamic_sizes.
inline DynamicSize dynamic(int tensor, int dim, int64_t min = 1,
                           int64_t max = std::numeric_limits<int64_t>::max()) {
  return {tensor, dim, min, max, 1, {}};
}

// --- How graphs are run.

/// What runs a graph.
enum class Backend {
  Eager,    ///< each op by LibTorch's kernel
  NoFuse,   ///< ops that code can be made for as a kernel each
  Default,  ///< fused kernels
};

/// The compiler of kernels.
enum class ToolchainChoice {
  Auto,    ///< clang in this process where its plugin can be opened, else the system's compiler
  Clang,   ///< clang in this process
  System,  ///< the C compiler of this machine
};

/// The instruction set that kernels are made for.
enum class Isa { Auto, Baseline, Avx2, Avx512 };

/// What to do when a kernel cannot be compiled.
enum class CompileFailure {
  Error,  ///< throw antegrad::Error with source, command and diagnostics
  Eager,  ///< run that graph as Backend::Eager does; Report counts such graphs and says why
};

// --- Which values of the forward pass are kept for the backward pass; the others are computed again there.

struct MinCut {};        ///< the fewest bytes such that no dear op is computed twice
struct SaveAll {};       ///< whatever the backward pass reads, as eager does
struct RecomputeAll {};  ///< nothing but inputs, and what cannot be computed again
/// As MinCut, and computes dear ops again, the cheapest per byte first, until the plan fits.
struct MemoryBudget {
  /// The estimated peak of both passes (what they allocate, not their inputs) is at most `n` bytes.
  static MemoryBudget bytes(int64_t n) { return {n, 1.0}; }
  /// At most this share of the bytes that SaveAll keeps; 0: as few as possible.
  static MemoryBudget fraction(double share) { return {-1, share}; }
  int64_t peak_bytes = -1;   ///< -1: no bound
  double saved_share = 1.0;  ///< of the bytes that SaveAll keeps
};

/// What to do with a value: leave it to the policy, keep it, compute it again.
enum class Keep { Auto, Save, Recompute };

/// A value that the backward pass reads, for UserPolicy.
struct Candidate {
  std::string op;     ///< that computes it
  std::string scope;  ///< where in the program (antegrad::Scope)
  int64_t bytes = 0;  ///< that it takes to keep
  bool dear = false;  ///< costs a product of matrices or the like to compute again
};
/// A policy of your own.
struct UserPolicy {
  std::string id;  ///< names the policy in cache keys: another behaviour, another id
  std::function<Keep(const Candidate&)> decide;  ///< what to do with a value
};
/// What is kept for the backward pass.
using Policy = std::variant<MinCut, SaveAll, RecomputeAll, MemoryBudget, UserPolicy>;

/// Names a part of a program: ops recorded while it lives carry its name (and those of the scopes around it).
class Scope {
 public:
  explicit Scope(std::string_view name);  ///< begins it; its destructor ends it
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  size_t outer_length_;
};

/// What to do with values computed in a scope, its inner scopes included. Comes before the policy.
struct ScopeRule {
  std::string scope;       ///< its name
  Keep keep = Keep::Auto;  ///< what to do
};

/// Whether compiled code is kept on disk; where: <antegrad/cache.h>.
enum class Cache {
  On,      ///< what was compiled before is loaded, what was not is compiled and stored
  Off,     ///< compiles always, stores nothing
  Strict,  ///< throws Error(CacheMiss) instead of compiling
};

/// Who waits for code to be made.
enum class Compile {
  Blocking,    ///< the call that needs it
  Background,  ///< nobody: the call captures, a thread of antegrad's compiles, and calls run uncompiled until
               ///< that is done
};

/// How far a compilation is.
struct Progress {
  std::string_view function;  ///< Options::name
  std::string_view stage;     ///< "capture", "plan", "kernels"
  size_t done = 0;            ///< of the stage
  size_t total = 0;           ///< that the stage has
};

/// Modules, as std::shared_ptr or in their holders: `options.watch = {net, head.ptr()}`.
class WatchedModules : public std::vector<std::shared_ptr<torch::nn::Module>> {
  using Pointers = std::vector<std::shared_ptr<torch::nn::Module>>;
  template <class T>
  static constexpr bool kIsHolder = requires(const T& holder) {
    holder.ptr();
    holder.is_empty();
  };
  /// A module itself: the function would use one that nobody keeps alive.
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
  WatchedModules() = default;  ///< none
  /// These.
  WatchedModules(Pointers modules) : Pointers(std::move(modules)) {}
  /// Holders, and pointers beside them.
  template <class... Modules>
  requires((kIsHolder<Modules> || ...)) WatchedModules(const Modules&... modules)
      : Pointers{pointer(modules)...} {}
  /// Modules on the stack: does not compile, and says why.
  template <class... Modules>
  requires(!(kIsHolder<Modules> || ...) && (kIsModule<Modules> || ...)) WatchedModules(const Modules&...) {
    static_assert(
        (!kIsModule<Modules> && ...),
        "antegrad watches modules that are shared: make it with std::make_shared<Net>() or in a holder "
        "(TORCH_MODULE), and write `options.watch = {net}`");
  }
};

/// Every field is described in docs/options.md. Environment variables override some of them (see there).
struct Options {
  std::string name = "function";                           ///< in graphs and messages
  Unsupported unsupported = Unsupported::Error;            ///< what cannot be captured
  WatchedModules watch;                                    ///< modules that the function uses
  int max_versions = 16;                                   ///< captures that one function may have
  Dynamic dynamic = Dynamic::Auto;                         ///< sizes that change
  std::vector<DynamicSize> dynamic_sizes;                  ///< symbols from the first call on
  int max_sizes = 1024;                                    ///< combinations of sizes that a version remembers
  bool check_recapture = false;                            ///< captures at each call and compares
  bool verify = false;                                     ///< verifies the captured graph, too
  std::vector<std::string> disabled_passes;                ///< names of passes to leave out
  Rng rng = Rng::Fused;                                    ///< where random numbers come from
  Policy policy = MinCut{};                                ///< what is kept for the backward pass
  std::vector<ScopeRule> scope_rules;                      ///< come before the policy
  bool writable_inputs = false;                            ///< inputs may be written to before backward()
  bool backward_ahead = false;                             ///< compiles the backward pass at the first call
  Backend backend = Backend::Default;                      ///< how graphs are run
  ToolchainChoice toolchain = ToolchainChoice::Auto;       ///< what compiles kernels
  Isa isa = Isa::Auto;                                     ///< what kernels are compiled for
  CompileFailure compile_failure = CompileFailure::Error;  ///< kernels that cannot be compiled
  Compile compile = Compile::Blocking;                     ///< who waits for code
  std::function<void(const Progress&)> progress;           ///< told how far a compilation is
  bool debug_compare = false;                              ///< compares each kernel with LibTorch
  Cache cache = Cache::On;                                 ///< whether compiled code is kept on disk
  std::string cache_tag;                                   ///< part of every key
};

}  // namespace antegrad
