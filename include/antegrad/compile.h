#pragma once
#include <ATen/core/ivalue.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "antegrad/call.h"
#include "antegrad/function.h"
#include "antegrad/options.h"
#include "antegrad/tree.h"

namespace antegrad {

/// A tensor that is given away to a call, made by donate().
class Donated {
 public:
  explicit Donated(at::Tensor tensor) : tensor_(std::move(tensor)) {}  ///< see donate()
  at::Tensor take() { return std::move(tensor_); }                     ///< leaves nothing

 private:
  at::Tensor tensor_;
};

/// Gives a tensor away to a call of a compiled function, which may use its memory for other values, or free
/// it as soon as it has read it. Leaves `tensor` undefined. Throws Error(InvalidArgument) when it is
/// undefined (because it was given away before), or when something else refers to it or owns its memory.
Donated donate(at::Tensor& tensor);
Donated donate(at::Tensor&& tensor);  ///< the same for a temporary

namespace detail {
template <class T>
constexpr bool kIsDonated = std::is_same_v<std::remove_cvref_t<T>, Donated>;
template <class T>
using Taken = std::conditional_t<kIsDonated<T>, at::Tensor, T>;
/// Takes out what was given away, and passes on everything else.
template <class T>
std::conditional_t<kIsDonated<T>, at::Tensor, T&&> take(T&& argument) {
  if constexpr (kIsDonated<T>)
    return argument.take();
  else
    return std::forward<T>(argument);
}

template <size_t I, class Types>
struct TakesNumber : std::false_type {};
template <size_t I, class... P>
struct TakesNumber<I, TypeList<P...>> {
  static constexpr bool at(auto... is_number) {
    const std::array<bool, sizeof...(P) + 1> all{is_number..., false};
    return all[std::min(I, sizeof...(P))];
  }
  static constexpr bool value = at(std::is_same_v<std::remove_cvref_t<P>, Number>...);
};

/// Returns a callable without its type. (std::make_shared() would be compiled anew for each callable.)
template <class F>
std::shared_ptr<void> without_type(F function) {
  void (*const destroy)(void*) = [](void* object) { delete static_cast<F*>(object); };
  return {static_cast<void*>(new F(std::move(function))), destroy};
}

/// An argument that is passed on as an lvalue; a copy of one that is const.
template <class T>
struct Passed {
  T& argument;
  T& get() { return argument; }
};
template <class T>
struct Passed<const T> {
  T argument;
  T& get() { return argument; }
};

/// Whether the callable takes a Number as argument number I.
template <class F, size_t I>
inline constexpr bool kTakesNumber = TakesNumber<I, typename Parameters<F>::Types>::value;
}  // namespace detail

/// A callable that runs captured graphs. Copies share everything. Thread-safe if the callable is.
template <class F>
class Compiled {
  template <class... Args>
  static constexpr bool kTakes =
      std::is_invocable_v<F&, detail::Taken<Args>&...> && !(std::is_array_v<Args> || ...);
  /// Which arguments are given away.
  template <bool... Is>
  struct Mask {};

 public:
  /// Equivalent to compile(function, options).
  Compiled(F function, Options options)
      : function_(detail::without_type(std::move(function))),
        core_(std::make_shared<detail::Function>(std::move(options))) {}

  /// Returns what the callable returns (detail::Nothing for void). Assigns to the caller's variables what the
  /// callable assigns to its reference parameters.
  template <class... Args>
  auto operator()(Args&&... args) const {
    return call_with(Mask<detail::kIsDonated<Args>...>(), std::index_sequence_for<Args...>(),
                     detail::take(std::forward<Args>(args))...);
  }

  /// Explains what a call with these arguments runs. Captures if such a call would, but runs nothing.
  template <class... Args>
  Explanation explain(const Args&... args) const {
    return [&]<size_t... I>(std::index_sequence<I...>) { return explain_call(own<I, const Args&>(args)...); }
    (std::index_sequence_for<Args...>());
  }

  /// Rejects, with a static_assert that says why, arguments that the callable cannot be called with.
  template <class... Args>
  requires(!kTakes<std::remove_cvref_t<Args>...>) void operator()(Args&&...) const {
    refuse_call<std::remove_cvref_t<Args>...>();
  }

  F& function() const { return *static_cast<F*>(function_.get()); }  ///< what was compiled
  const Options& options() const { return core_->options(); }        ///< including those from the environment
  Report report() const { return core_->report(); }                  ///< statistics since its creation
  /// The text of the newest captured graph after the passes; empty before the first call.
  std::string graph() const { return core_->graph_text(); }
  /// The forward half of a differentiable graph; empty if the graph is not differentiable.
  std::string forward_graph() const { return core_->forward_text(); }
  std::string backward_graph() const { return core_->backward_text(); }  ///< the backward half
  /// Which values are saved for the backward pass, which are recomputed, and why.
  std::string partition() const { return core_->partition_text(); }
  /// The calling convention of the graph: the steps carried out around a run of it.
  std::string signature() const { return core_->signature_text(); }
  /// The function without the types of its arguments, for packages.
  const std::shared_ptr<detail::Function>& core() const { return core_; }

 private:
  /// Returns a copy of what the argument refers to, a Number where the callable takes one, or passes it on.
  template <size_t I, class Given, class T>
  static decltype(auto) own(T& argument) {
    if constexpr (detail::kIsReference<std::remove_cvref_t<T>>)
      return detail::owned(argument);
    else if constexpr (detail::kTakesNumber<F, I> && detail::PlainNumber<std::remove_cvref_t<T>>)
      return Number(argument);
    else
      return std::forward<Given>(argument);
  }

  template <class... Args>
  Explanation explain_call(const Args&... args) const {
    return Calls<Args...>::explain(*core_, callable<Args...>(), numbers_, args...);
  }

  template <class... Args>
  using Result = std::conditional_t<std::is_void_v<std::invoke_result_t<F&, Args&...>>, detail::Nothing,
                                    std::remove_cvref_t<std::invoke_result_t<F&, Args&...>>>;
  template <class Indices, class... Args>
  struct CallsOf;
  template <size_t... I, class... Args>
  struct CallsOf<std::index_sequence<I...>, Args...> {
    using Type =
        detail::Calls<std::integer_sequence<bool, detail::kMayAssign<F, I>...>, Result<Args...>, Args...>;
  };
  template <class... Args>
  using Calls = typename CallsOf<std::index_sequence_for<Args...>, Args...>::Type;

  template <class... Args>
  static void refuse_call() {
    static_assert(!(std::is_array_v<Args> || ...),
                  "antegrad takes texts as std::string, and arrays as std::vector or std::array");
    static_assert(
        (std::is_array_v<Args> || ...) || std::is_invocable_v<F&, Args&...>,
        "the compiled function cannot be called with these arguments: give as many as it takes, of types "
        "that its parameters can be made of; what a plain function has defaults for must be given too");
  }

  /// Passes arguments as lvalues, so that callables may take T, const T& and T&.
  template <class... Args>
  static Result<Args...> invoke(void* object, Args&... args) {
    auto& function = *static_cast<F*>(object);
    constexpr bool is_member = std::is_member_pointer_v<F>;
    if constexpr (std::is_void_v<std::invoke_result_t<F&, Args&...>>) {
      if constexpr (is_member)
        std::invoke(function, args...);
      else
        function(args...);  // std::invoke() would be compiled anew for each callable
      return {};
    } else if constexpr (is_member) {
      return std::invoke(function, args...);
    } else {
      return function(args...);
    }
  }
  template <class... Args>
  detail::Callable<Result<Args...>, Args...> callable() const {
    return {function_, &invoke<Args...>};
  }

  template <class Donations, size_t... I, class... Args>
  auto call_with(Donations given, std::index_sequence<I...> all, Args&&... args) const {
    return call(given, all, own<I, Args>(args)...);
  }

  template <bool... Is, size_t... I, class... Args>
  auto call(Mask<Is...>, std::index_sequence<I...>, Args&&... args) const {
    using Call = Calls<std::remove_cvref_t<Args>...>;
    if (detail::capturing()) return run_plain(args...);
    const typename Call::Shared shared(std::array<detail::Place, sizeof...(Args)>{place_of<I>(args)...});
    const auto let_go = [&] { ((Is ? drop(args) : void()), ...); };
    const c10::function_ref<void()> reference(let_go);
    auto outcome = Call::call(*core_, callable<std::remove_cvref_t<Args>...>(), numbers_, shared,
                              (Is || ...) ? &reference : nullptr, std::as_const(args)...);
    if (outcome.eager) {
      const detail::PlainRun plain;
      return run_plain(args...);
    }
    if constexpr (!Call::kPlain || Call::kAssigns) {
      const auto& pattern = *static_cast<const typename Call::Known*>(outcome.pattern.get());
      LeafReader reader(outcome.tensors);
      auto result = rebuild(pattern.result, reader);
      (write_back<I, Args>(args, pattern, reader), ...);
      return result;
    } else {
      return at::Tensor(std::move(outcome.tensors[0]));
    }
  }

  template <class T>
  static void drop(T& argument) {
    if constexpr (std::is_same_v<T, at::Tensor>) argument.reset();  // only tensors are given away
  }

  template <size_t I, class T>
  static detail::Place place_of(T& argument) {
    if constexpr (detail::kMayAssign<F, I> && !std::is_const_v<T>)
      return detail::place_of(argument);
    else
      return {};
  }

  template <size_t I, class Given, class T, class Known>
  static void write_back(T& argument, const Known& pattern, LeafReader& reader) {
    if constexpr (detail::kMayAssign<F, I>) {
      if (!pattern.assigned[I]) return;
      const auto& value = std::get<I>(pattern.arguments);
      if constexpr (detail::kIsVariable<Given>)
        detail::assign(argument, value, reader);
      else
        rebuild(value, reader);  // consumes its tensors; the caller has no variable to assign to
    }
  }

  /// Copies const arguments.
  template <class... Args>
  auto run_plain(Args&... args) const {
    return invoke(function_.get(), detail::Passed<Args>{args}.get()...);
  }

  std::shared_ptr<void> function_;  ///< an F
  std::shared_ptr<detail::NumberInputs> numbers_ = std::make_shared<detail::NumberInputs>();
  std::shared_ptr<detail::Function> core_;
};

namespace detail {
/// torch::nn modules in their holders (torch::nn::Linear …) and in std::shared_ptr.
template <class T>
concept ModuleHolder = requires(T& holder) {
  holder.ptr();
  holder->named_parameters();
};
template <class T>
concept ModulePointer = requires(T& pointer) {
  pointer.use_count();
  pointer->named_parameters();
};
}  // namespace detail

namespace detail {
/// Calls the forward() of a module.
template <class M>
struct ModuleForward {
  M module;
  template <class... Args>
  auto operator()(Args&... args) {
    return module->forward(args...);
  }
};
template <class M, class = void>
struct ForwardParameters : CallParameters<void> {};
template <class M>
struct ForwardParameters<M, std::void_t<decltype(&M::forward)>> : CallParameters<decltype(&M::forward)> {};
template <class M>
struct Parameters<ModuleForward<M>>
    : ForwardParameters<std::remove_reference_t<decltype(*std::declval<M&>().operator->())>> {};
template <class F>
struct Parameters<Compiled<F>> : Parameters<F> {};
}  // namespace detail

/// Compiles a callable. A call with arguments of new types, shapes or numeric values captures it. A torch::nn
/// module is called through forward(), and watched (Options::watch).
template <class F>
auto compile(F function, Options options = {}) {
  if constexpr (detail::ModuleHolder<F> || detail::ModulePointer<F>) {
    if constexpr (detail::ModuleHolder<F>)
      options.watch.push_back(function.ptr());
    else
      options.watch.push_back(function);
    using Forward = detail::ModuleForward<F>;
    return Compiled<Forward>(Forward{std::move(function)}, std::move(options));
  } else {
    return Compiled<F>(std::move(function), std::move(options));
  }
}

namespace detail {
/// A module that is neither in a holder nor in a std::shared_ptr, and has no call operator of its own.
template <class T>
concept BareModule = requires(T& module) {
  module.named_parameters();
  module.named_buffers();
}
&&!requires { &T::operator(); };
}  // namespace detail

/// Rejects a module passed by value, with a static_assert that says why.
template <class M>
requires detail::BareModule<M>
void compile(M, Options = {}) {
  static_assert(
      !detail::BareModule<M>,
      "antegrad compiles modules that are shared: make it with std::make_shared<Net>() or in a holder "
      "(TORCH_MODULE), and write compile(net); for a torch::jit::Module include <antegrad/jit.h>");
}

/// What an op does besides computing its results.
enum class OpEffects : uint8_t {
  Unknown,  ///< every call runs, in order with other such calls; none is removed, merged or repeated
  None      ///< calls may be removed, merged and repeated
};

/// Maps the arguments of an op, in schema order, to its results. Tensors are on the meta device: they have
/// sizes, strides and a dtype, but no contents. Returns one such result per result of the schema, a list of
/// tensors where the schema has a list: `return {at::empty_like(arguments[0].toTensor())};`
using ShapeFunction = std::function<std::vector<c10::IValue>(const std::vector<c10::IValue>& arguments)>;

/// Registers a shape function for a custom op ("mylib::op", "mylib::op.overload"), so that functions that
/// call it can be captured. Ops with a kernel for the dispatch key Meta, and composite ops, need none. May be
/// called before the op is defined; a second call replaces the function of the first.
void register_shape(const std::string& op, ShapeFunction shape, OpEffects effects = OpEffects::Unknown);

/// Says what a custom op does besides computing its results. What is registered last holds.
void register_effect(const std::string& op, OpEffects effects);
/// Says that a custom op acts on this resource alone (a file, a device, a log): every call runs, in order
/// with calls of other ops on the same resource and with ops of unknown effects, but not with other
/// resources.
void register_effect(const std::string& op, const std::string& resource);
inline void register_effect(const std::string& op, const char* resource) {  ///< the same
  register_effect(op, std::string(resource));
}

/// Waits for the CUDA devices that generated kernels with indices run on, and throws Error(InvalidArgument)
/// if one of them found an index out of range. Kernels run after the call that launches them; without this
/// function, the next call of a compiled function or the next backward() after that throws.
void check_errors();

/// Explains what compile() makes of a callable for these arguments: graphs, fusion groups, C sources.
template <class F, class... Args>
Explanation explain(const Compiled<F>& compiled, const Args&... args) {
  return compiled.explain(args...);
}
/// The same for a callable that is not compiled yet.
template <class F, class... Args>
Explanation explain(F function, const Args&... args) {
  return compile(std::move(function)).explain(args...);
}

}  // namespace antegrad
