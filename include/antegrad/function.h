#pragma once
#include <ATen/core/Tensor.h>
#include <c10/util/FunctionRef.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "antegrad/options.h"
#include "antegrad/tree.h"

namespace antegrad {

namespace compiler {
class Version;
}
namespace runtime {
class EarlyResults;
}
using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;  ///< tensors by name, in an order

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
  uint64_t calls = 0;             ///< all calls, eager ones included
  uint64_t captures = 0;          ///< versions captured; each has its own code
  uint64_t dropped_versions = 0;  ///< versions dropped because of Options::max_versions
  uint64_t sizes = 0;             ///< further combinations of sizes and numbers that were served
  uint64_t forward_checks = 0;    ///< those of them for which only the forward pass was captured
  uint64_t eager_calls = 0;       ///< calls run uncompiled: see eager_reasons
  /// Calls run uncompiled while code was compiled in the background, or to see whether there are graph
  /// breaks.
  uint64_t waiting_calls = 0;
  std::vector<std::string> eager_reasons;      ///< each distinct error text, once
  uint64_t broken_calls = 0;                   ///< calls run in parts, with Unsupported::Break
  uint64_t stretches = 0;                      ///< compiled parts of such calls, each a function of its own
  std::map<std::string, uint64_t> breaks;      ///< why and where calls were broken, and how often
  std::vector<std::string> recapture_reasons;  ///< the guard that failed, for each capture after the first
  std::vector<std::string> fixed_sizes;        ///< sizes that could not become symbols, and why
  std::vector<std::string> regions;  ///< what became of branches and loops on data; each distinct text, once
  std::map<std::string, uint64_t> shape_fallbacks;  ///< ops whose shape came from the real kernel on zeros
  uint64_t frozen = 0;            ///< captured tensors that are constants (Options::freeze), of all versions
  uint64_t frozen_bytes = 0;      ///< memory of what has been computed from them once
  uint64_t nodes = 0;             ///< nodes of the newest graph after the passes
  uint64_t compile_failures = 0;  ///< graphs run eagerly because of CompileFailure::Eager
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
  std::string frozen;     ///< the graph that was run once, when the function was compiled (Options::freeze)
  std::string writes;     ///< a line per input that a call writes to: in place, or why it is copied
};

// --- Reference parameters that a callable assigns to.

namespace detail {

template <class... T>
struct TypeList {};
/// The parameters of a function type, or of a class with exactly one call operator; void when there are
/// several overloads or the call operator is a template.
template <class Call>
struct CallParameters {
  using Types = void;
};
template <class R, class... P>
struct CallParameters<R (*)(P...)> {
  using Types = TypeList<P...>;
};
template <class R, class... P>
struct CallParameters<R (*)(P...) noexcept> : CallParameters<R (*)(P...)> {};
template <class C, class R, class... P>
struct CallParameters<R (C::*)(P...)> : CallParameters<R (*)(P...)> {};
template <class C, class R, class... P>
struct CallParameters<R (C::*)(P...) const> : CallParameters<R (*)(P...)> {};
template <class C, class R, class... P>
struct CallParameters<R (C::*)(P...) noexcept> : CallParameters<R (*)(P...)> {};
template <class C, class R, class... P>
struct CallParameters<R (C::*)(P...) const noexcept> : CallParameters<R (*)(P...)> {};

/// The parameters that a callable declares. Specialised for wrappers of other callables.
template <class F, class = void>
struct Parameters : CallParameters<F> {};
template <class F>
struct Parameters<F, std::void_t<decltype(&F::operator())>> : CallParameters<decltype(&F::operator())> {};

template <size_t I, class Types>
struct MayAssign : std::true_type {};  // unknown parameters: assume it may
template <size_t I, class... P>
struct MayAssign<I, TypeList<P...>> {
  static constexpr bool at(auto... by_reference) {
    const std::array<bool, sizeof...(P) + 1> all{by_reference..., false};
    return all[std::min(I, sizeof...(P))];
  }
  static constexpr bool value =
      at((std::is_lvalue_reference_v<P> && !std::is_const_v<std::remove_reference_t<P>>)...);
};
/// Whether the callable may assign to argument number I: true for `T&` and `auto&`.
template <class F, size_t I>
inline constexpr bool kMayAssign = MayAssign<I, typename Parameters<F>::Types>::value;
template <class F, size_t... I>
constexpr bool may_assign_any(std::index_sequence<I...>) {
  return (kMayAssign<F, I> || ...);
}

/// Whether a deduced argument type is a variable of the caller that can be assigned to.
template <class T>
inline constexpr bool kIsVariable =
    std::is_lvalue_reference_v<T> && !std::is_const_v<std::remove_reference_t<T>>;

inline bool same_leaves(const Leaves& a, const Leaves& b) {
  const auto same = [](const at::Tensor& x, const at::Tensor& y) { return x.is_same(y); };
  return std::equal(a.key.begin(), a.key.end(), b.key.begin(), b.key.end()) && a.declared == b.declared &&
         std::equal(a.tensors.begin(), a.tensors.end(), b.tensors.begin(), b.tensors.end(), same);
}

/// Assigns `pattern`, with the reader's tensors, to `target`. Members of a struct that are not among its
/// antegrad_fields() keep their values.
template <class T>
void assign(T& target, const T& pattern, LeafReader& reader) {
  if constexpr (HasFields<T>) {
    auto to = antegrad_fields(target);
    auto from = antegrad_fields(const_cast<T&>(pattern));
    [&]<size_t... I>(std::index_sequence<I...>) { (assign(std::get<I>(to), std::get<I>(from), reader), ...); }
    (std::make_index_sequence<std::tuple_size_v<decltype(to)>>());
  } else {
    target = Tree<T>::rebuild(pattern, reader);
  }
}
template <HasFields T>
void assign(std::vector<T>& target, const std::vector<T>& pattern, LeafReader& reader) {
  while (target.size() > pattern.size()) target.pop_back();
  for (size_t i = 0; i < target.size(); ++i) assign(target[i], pattern[i], reader);
  for (size_t i = target.size(); i < pattern.size(); ++i)
    target.push_back(Tree<T>::rebuild(pattern[i], reader));
}

/// Where an argument lies in the caller's memory.
struct Place {
  const void* object = nullptr;  ///< null when the argument is not a variable
  const void* type = nullptr;
  std::array<std::pair<const char*, const char*>, 2>
      memory{};  ///< the object itself, and the elements of a vector
};
template <class T>
inline constexpr char kTypeOf = 0;
template <class T>
Place place_of(T& variable) {
  Place place{&variable, &kTypeOf<T>, {}};
  const auto* begin = reinterpret_cast<const char*>(&variable);
  place.memory[0] = {begin, begin + sizeof(T)};
  if constexpr (requires { variable.data() + variable.size(); } && !std::is_same_v<T, std::string>) {
    const auto* first = reinterpret_cast<const char*>(variable.data());
    place.memory[1] = {first, reinterpret_cast<const char*>(variable.data() + variable.size())};
  }
  return place;
}

/// Which arguments are the same variable of the caller, or overlap.
template <size_t N>
struct SharedVariables {
  std::array<size_t, N> same{};  ///< per argument: the first argument that is the same variable
  std::array<bool, N> partly{};  ///< per argument: whether it contains, or is contained in, another argument
  bool any = false;

  explicit SharedVariables(const std::array<Place, N>& places) {
    for (size_t i = 0; i < N; ++i) {
      same[i] = i;
      for (size_t j = 0; j < i; ++j) compare(places[i], i, places[j], j);
    }
  }
  void add_to(Leaves& leaves) const {
    for (size_t i = 0; any && i < N; ++i) leaves.key.push_back(static_cast<int64_t>(2 * same[i] + partly[i]));
  }

 private:
  void compare(const Place& a, size_t i, const Place& b, size_t j) {
    if (a.object == nullptr || b.object == nullptr) return;
    if (a.object == b.object && a.type == b.type) {
      if (same[i] == i) same[i] = same[j];
      any = true;
      return;
    }
    for (const auto& x : a.memory)
      for (const auto& y : b.memory)
        if (x.first < y.second && y.first < x.second) any = partly[i] = partly[j] = true;
  }
};
/// Throws Error(UnsupportedArgument): the function assigns to an argument that overlaps another one.
[[noreturn]] void refuse_shared_variable(size_t argument);

}  // namespace detail
namespace detail {

struct CallStructure;  // <antegrad/value.h>

/// The outcome of one run of the user's function over given tensors: its flattened outputs, and its result as
/// a pattern from which real results are rebuilt.
struct Outcome {
  std::vector<at::Tensor> tensors;
  std::shared_ptr<const void> pattern;
  bool eager = false;  ///< nothing was run: the caller has to run the function itself
  std::shared_ptr<const CallStructure> structure = nullptr;  ///< set by runs for a capture
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

  const Options& options() const;
  Report report() const;
  std::string graph_text() const;
  std::string forward_text() const;
  std::string backward_text() const;
  std::string partition_text() const;
  std::string signature_text() const;
  /// The compiled versions, newest first, for packages.
  std::vector<std::shared_ptr<const compiler::Version>> versions() const;
  const std::string& name() const;  ///< Options::name
  /// Lets it take results of compiled calls before they end. Calls must not run at the same time then.
  void hand_results_to(std::shared_ptr<runtime::EarlyResults> early);

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
