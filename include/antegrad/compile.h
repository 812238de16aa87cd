#pragma once
#include <memory>
#include <type_traits>
#include <utility>

#include "antegrad/function.h"
#include "antegrad/options.h"
#include "antegrad/tree.h"

namespace antegrad {

namespace detail {
struct Nothing {};
inline auto antegrad_fields(Nothing&) { return std::tie(); }
}  // namespace detail

/// A callable that runs captured graphs. Copies share everything. Safe to call from many threads if the
/// callable is.
template <class F>
class Compiled {
 public:
  /// As compile(function, options).
  Compiled(F function, Options options)
      : function_(std::make_shared<F>(std::move(function))),
        core_(std::make_shared<detail::Function>(std::move(options))) {}

  /// Returns what the callable returns (detail::Nothing for void).
  template <class... Args>
  auto operator()(const Args&... args) const {
    using Returned = std::invoke_result_t<F&, Args&...>;
    using Result =
        std::conditional_t<std::is_void_v<Returned>, detail::Nothing, std::remove_cvref_t<Returned>>;
    if (detail::capturing()) return run_plain<Result>(*function_, std::tuple<Args...>(args...));
    const auto run = [&](const std::vector<at::Tensor>& tensors) {
      return run_on<Result>(*function_, tensors, args...);
    };
    const auto keep = [&] { return keep_run<Result>(args...); };
    const auto leaves = leaves_of<Result>(args...);
    if constexpr (kPlain<Result, Args...>) {
      auto outcome = core_->call(leaves, run, keep);
      if (outcome.eager) {
        const detail::PlainRun plain;
        return run_plain<Result>(*function_, std::tuple<Args...>(args...));
      }
      return Result(std::move(outcome.tensors[0]));
    } else {
      auto outcome = core_->call(leaves, run, keep);
      if (outcome.eager) {
        const detail::PlainRun plain;
        return run_plain<Result>(*function_, std::tuple<Args...>(args...));
      }
      LeafReader reader(outcome.tensors);
      return rebuild(*static_cast<const Result*>(outcome.pattern.get()), reader);
    }
  }

  /// What a call with these arguments runs. Captures where such a call would, runs nothing.
  template <class... Args>
  Explanation explain(const Args&... args) const {
    using Returned = std::invoke_result_t<F&, Args&...>;
    using Result =
        std::conditional_t<std::is_void_v<Returned>, detail::Nothing, std::remove_cvref_t<Returned>>;
    const auto run = [&](const std::vector<at::Tensor>& tensors) {
      return run_on<Result>(*function_, tensors, args...);
    };
    const auto keep = [&] { return keep_run<Result>(args...); };
    return core_->explain(leaves_of<Result>(args...), run, keep);
  }

  Report report() const { return core_->report(); }  ///< what it has done so far
  /// The text of the newest captured graph, after the passes ("" before the first call).
  std::string graph() const { return core_->graph_text(); }
  /// The graphs of the two passes that a differentiable graph was split into ("": it is not).
  std::string forward_graph() const { return core_->forward_text(); }
  std::string backward_graph() const { return core_->backward_text(); }  ///< as forward_graph()
  /// What is kept for the backward pass, what is computed again, and why.
  std::string partition() const { return core_->partition_text(); }
  /// What happens around a run of that graph.
  std::string signature() const { return core_->signature_text(); }

 private:
  /// Its address tells the argument types of a generic callable apart.
  template <class...>
  static constexpr char kTypeTag = 0;
  /// Tensors in, one tensor out: no trees to take apart.
  template <class Result, class... Args>
  static constexpr bool kPlain = std::is_same_v<Result, at::Tensor> &&
                                 (std::is_same_v<Args, at::Tensor> && ...);

  template <class Result, class... Args>
  static Leaves leaves_of(const Args&... args) {
    Leaves leaves;
    if constexpr (kPlain<Result, Args...>) {
      (leaves.tensors.push_back(args), ...);
    } else {
      leaves.key.push_back(reinterpret_cast<int64_t>(&kTypeTag<Result, Args...>));
      (flatten(args, leaves), ...);
    }
    return leaves;
  }

  /// Arguments are handed over as lvalues of its own, so callables may take T, const T& and T&.
  template <class Result, class... Args>
  static Result run_plain(F& function, std::tuple<Args...> arguments) {
    if constexpr (std::is_same_v<Result, detail::Nothing>) {
      std::apply(function, arguments);
      return {};
    } else {
      return std::apply(function, arguments);
    }
  }

  template <class Result, class... Args>
  static detail::Outcome run_on(F& function, const std::vector<at::Tensor>& tensors, const Args&... args) {
    LeafReader reader(tensors);
    Result result = run_plain<Result>(function, std::tuple<Args...>{rebuild(args, reader)...});
    Leaves leaves;
    flatten(result, leaves);
    detail::Outcome outcome;
    outcome.tensors.assign(leaves.tensors.begin(), leaves.tensors.end());
    // The pattern must not keep the capture's tensors.
    const std::vector<at::Tensor> none;
    LeafReader blank(none);
    outcome.pattern = std::make_shared<Result>(rebuild(result, blank));
    return outcome;
  }

  /// The call with everything but its tensors.
  template <class Result, class... Args>
  detail::OwnedRun keep_run(const Args&... args) const {
    const std::vector<at::Tensor> none;
    LeafReader blank(none);
    auto pattern = std::make_shared<const std::tuple<Args...>>(std::tuple<Args...>{rebuild(args, blank)...});
    return [function = function_, pattern](const std::vector<at::Tensor>& tensors) {
      return std::apply([&](const Args&... like) { return run_on<Result>(*function, tensors, like...); },
                        *pattern);
    };
  }

  std::shared_ptr<F> function_;
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

/// Compiles a callable. The first call with arguments of new types, shapes or values of numbers captures it.
/// A torch::nn module is called through forward(), and watched (Options::watch).
template <class F>
auto compile(F function, Options options = {}) {
  if constexpr (detail::ModuleHolder<F> || detail::ModulePointer<F>) {
    if constexpr (detail::ModuleHolder<F>)
      options.watch.push_back(function.ptr());
    else
      options.watch.push_back(function);
    auto forward = [module = std::move(function)](auto&... args) mutable { return module->forward(args...); };
    return Compiled<decltype(forward)>(std::move(forward), std::move(options));
  } else {
    return Compiled<F>(std::move(function), std::move(options));
  }
}

/// What compile() makes of a callable for these arguments: graphs, fused groups, C sources.
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
