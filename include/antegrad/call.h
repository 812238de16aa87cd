#pragma once
// Calls of compiled functions, without the type of the callable: this code is compiled once per list of
// argument types, not once per lambda.
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "antegrad/function.h"
#include "antegrad/tree.h"
#include "antegrad/value.h"

namespace antegrad::detail {

struct Nothing {};
inline auto antegrad_fields(Nothing&) { return std::tie(); }

/// The result of a run without its tensors, and the arguments that the callable assigned to.
template <class Result, class... Args>
struct Pattern {
  Result result;
  std::tuple<Args...> arguments;
  std::array<bool, sizeof...(Args)> assigned{};
};

// --- Arguments that refer to the caller's memory: IntArrayRef, TensorList, std::span, std::string_view.

template <class T>
inline constexpr bool kIsReference = false;
template <class T>
inline constexpr bool kIsReference<c10::ArrayRef<T>> = true;
template <class T, size_t N>
inline constexpr bool kIsReference<std::span<const T, N>> = true;
template <>
inline constexpr bool kIsReference<std::string_view> = true;

/// Returns a copy of what the argument refers to, since the function may be captured again after the call. It
/// converts to the type that the function takes.
template <class T>
std::vector<T> owned(const c10::ArrayRef<T>& argument) {
  return argument.vec();
}
template <class T, size_t N>
std::vector<T> owned(const std::span<const T, N>& argument) {
  return {argument.begin(), argument.end()};
}
inline std::string owned(const std::string_view& argument) { return std::string(argument); }

// --- Calls

/// A callable without its type.
template <class Result, class... Args>
struct Callable {
  const std::shared_ptr<void>& object;
  Result (*invoke)(void* object, Args&... args);
};

/// The numbers that a call passes as tensors, after the others.
struct NumbersOfCall {
  const std::shared_ptr<NumberInputs>& inputs;
  size_t count = 0;
};

/// Calls `f` with the leaves and the numbers among them, again when the function turns out to use others.
template <class Result>
Result with_numbers(NumbersOfCall& numbers, c10::function_ref<Leaves()> make_leaves,
                    c10::function_ref<Result(Leaves&)> f) {
  for (;;) {
    Leaves leaves = make_leaves();
    if (leaves.declared.empty()) return f(leaves);
    numbers.count = numbers.inputs->append(leaves);
    try {
      return f(leaves);
    } catch (const NewNumbers& found) {
      numbers.inputs->learn(found);
    }
  }
}

/// A distinct address per list of types, to tell calls of a generic callable apart.
template <class...>
inline constexpr char kTypeTag = 0;

/// Calls with arguments of the types Args, without references. `MayAssign` says which of them the callable
/// may assign to.
template <class MayAssign, class Result, class... Args>
class Calls;

template <bool... kMayAssign, class Result, class... Args>
class Calls<std::integer_sequence<bool, kMayAssign...>, Result, Args...> {
 public:
  using Known = Pattern<Result, Args...>;
  using Shared = SharedVariables<sizeof...(Args)>;
  using Function = Callable<Result, Args...>;
  static constexpr bool kAssigns = (kMayAssign || ...);
  /// Whether all arguments and the result are tensors, so that there are no trees to flatten.
  static constexpr bool kPlain =
      std::is_same_v<Result, at::Tensor> && (std::is_same_v<Args, at::Tensor> && ...);

  /// Calls the compiled function. `let_go` is null, or drops the tensors that are given away.
  static Outcome call(detail::Function& core, const Function& function,
                      const std::shared_ptr<NumberInputs>& inputs, const Shared& shared,
                      const c10::function_ref<void()>* let_go, const Args&... args) {
    NumbersOfCall numbers{inputs};
    const auto run = [&](const std::vector<at::Tensor>& tensors) {
      return run_on(function, shared, numbers, tensors, args...);
    };
    const auto keep = [&] { return keep_run(function, shared, numbers, args...); };
    return with_numbers<Outcome>(
        numbers, [&] { return leaves_of(shared, args...); },
        [&](Leaves& leaves) {
          return let_go != nullptr ? core.consume(std::move(leaves), run, keep, *let_go)
                                   : core.call(leaves, run, keep);
        });
  }

  static Explanation explain(detail::Function& core, const Function& function,
                             const std::shared_ptr<NumberInputs>& inputs, const Args&... args) {
    const Shared shared(std::array<Place, sizeof...(Args)>{});
    NumbersOfCall numbers{inputs};
    const auto run = [&](const std::vector<at::Tensor>& tensors) {
      return run_on(function, shared, numbers, tensors, args...);
    };
    const auto keep = [&] { return keep_run(function, shared, numbers, args...); };
    return with_numbers<Explanation>(
        numbers, [&] { return leaves_of(shared, args...); },
        [&](Leaves& leaves) { return core.explain(leaves, run, keep); });
  }

 private:
  using Indices = std::index_sequence_for<Args...>;

  static Leaves leaves_of(const Shared& shared, const Args&... args) {
    Leaves leaves;
    if constexpr (kPlain) {
      (leaves.tensors.push_back(args), ...);
    } else {
      leaves.key.push_back(reinterpret_cast<int64_t>(&kTypeTag<Result, Args...>));
      ((flatten(args, leaves), ++leaves.argument), ...);
    }
    if constexpr (kAssigns) shared.add_to(leaves);
    return leaves;
  }

  static Outcome run_on(const Function& function, const Shared& shared, const NumbersOfCall& numbers,
                        const std::vector<at::Tensor>& tensors, const Args&... args) {
    LeafReader reader(tensors, numbers.count > 0);
    std::tuple<Args...> arguments{rebuild(args, reader)...};
    const auto own = tensors.begin() + static_cast<int64_t>(reader.tensors_read());
    NumberScope scope(*numbers.inputs, {own, own + static_cast<int64_t>(numbers.count)});
    auto outcome = run_on(function, shared, arguments, Indices());
    scope.finish();
    outcome.structure = structure_of(*static_cast<const Known*>(outcome.pattern.get()), Indices(), args...);
    return outcome;
  }

  template <size_t... I>
  static std::shared_ptr<const CallStructure> structure_of(const Known& pattern, std::index_sequence<I...>,
                                                           const Args&... args) {
    [[maybe_unused]] const auto tensors_in = [](const auto& argument) {
      Leaves leaves;
      flatten(argument, leaves);
      return leaves.tensors.size() + leaves.declared.size();
    };
    std::vector<std::optional<c10::IValue>> assigned;
    [[maybe_unused]] const auto add = [&](bool is_assigned, auto value) {
      if (is_assigned) assigned.push_back(std::move(value));
    };
    (add(pattern.assigned[I], value_of(std::get<I>(pattern.arguments))), ...);
    return call_structure({value_of(args)...}, {tensors_in(args)...}, value_of(pattern.result),
                          std::move(assigned));
  }

  template <size_t... I>
  static Outcome run_on(const Function& function, const Shared& shared, std::tuple<Args...>& arguments,
                        std::index_sequence<I...>) {
    [[maybe_unused]] const std::array<void*, sizeof...(Args)> objects{&std::get<I>(arguments)...};
    std::array<Leaves, sizeof...(Args)> before, after;
    const auto take = [&]([[maybe_unused]] std::array<Leaves, sizeof...(Args)>& leaves) {
      ((kMayAssign ? flatten(std::get<I>(arguments), leaves[I]) : void()), ...);
    };
    take(before);
    auto result = function.invoke(function.object.get(), *static_cast<Args*>(objects[shared.same[I]])...);
    take(after);
    Leaves leaves;
    flatten(result, leaves);
    if (!leaves.declared.empty()) refuse_number_result();
    std::array<bool, sizeof...(Args)> assigned{};
    for (size_t i = 0; i < sizeof...(Args); ++i) {
      assigned[i] = !same_leaves(before[i], after[i]);
      if (!assigned[i]) continue;
      if (shared.partly[i]) refuse_shared_variable(i);
      if (!after[i].declared.empty()) refuse_number_result();
      leaves.tensors.append(after[i].tensors.begin(), after[i].tensors.end());
    }
    Outcome outcome;
    outcome.tensors.assign(leaves.tensors.begin(), leaves.tensors.end());
    // The pattern must not keep the tensors of the capture alive.
    const std::vector<at::Tensor> none;
    LeafReader blank(none);
    outcome.pattern = std::make_shared<Known>(Known{
        rebuild(result, blank), std::tuple<Args...>{rebuild(std::get<I>(arguments), blank)...}, assigned});
    return outcome;
  }

  /// Returns the call as a function of its tensors, with everything else stored.
  static OwnedRun keep_run(const Function& function, const Shared& shared, const NumbersOfCall& numbers,
                           const Args&... args) {
    const std::vector<at::Tensor> none;
    LeafReader blank(none);
    auto pattern = std::make_shared<const std::tuple<Args...>>(std::tuple<Args...>{rebuild(args, blank)...});
    return [object = function.object, invoke = function.invoke, shared, inputs = numbers.inputs,
            count = numbers.count, pattern](const std::vector<at::Tensor>& tensors) {
      const NumbersOfCall numbers{inputs, count};
      const auto run = [&](const Args&... like) {
        return run_on({object, invoke}, shared, numbers, tensors, like...);
      };
      return std::apply(run, *pattern);
    };
  }
};

}  // namespace antegrad::detail
