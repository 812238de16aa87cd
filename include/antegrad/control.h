#pragma once
#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "antegrad/tree.h"

namespace antegrad {

// Branches and loops on data, and other parts of a function that stay together (docs/control-flow.md). In a
// compiled function each is a node of the graph; elsewhere they run as ordinary code. Bodies take and return
// tensors, or what consists of tensors (std::vector, std::tuple, structs with antegrad_fields …). They may
// use any other tensors. In a compiled function they must not write to tensors that they have not made.

namespace detail {

using RegionTensors = std::vector<at::Tensor>;
using RegionFunction = std::function<RegionTensors(const RegionTensors&)>;

enum class RegionForm { Cond, WhileLoop, Scan, Map, Call, Checkpoint };

struct RegionCall {
  RegionForm form = RegionForm::Call;
  std::string name;
  std::string place;       ///< what reports add to the kind of region: where in a program it is
  RegionTensors operands;  ///< the condition, carried tensors, or lists; none for bodies that take arguments
  size_t carried = 0;
  size_t sliced = 0;
  RegionTensors arguments;  ///< what bodies are called with besides
  std::vector<RegionFunction> bodies;
};
RegionTensors run_region(const RegionCall& call);
using RegionCombine = std::function<RegionTensors(const RegionTensors&, const RegionTensors&)>;
RegionTensors scan_associatively(const RegionCombine& combine, const RegionTensors& lists);
/// Throws Error(InvalidArgument): bodies return trees of different structure, or numbers.
[[noreturn]] void refuse_structure(const char* region, bool numbers);

template <class T>
RegionTensors tensors_of(const char* region, const T& value) {
  Leaves leaves;
  flatten(value, leaves);
  if (!leaves.numbers.empty() || !leaves.declared.empty()) refuse_structure(region, true);
  return {leaves.tensors.begin(), leaves.tensors.end()};
}
/// A copy of `like` with these tensors.
template <class T>
T tree_of(const T& like, const RegionTensors& tensors) {
  LeafReader reader(tensors);
  return rebuild(like, reader);
}

/// The structure of what bodies return: that of the first that has run.
template <class T>
class RegionResult {
 public:
  explicit RegionResult(const char* region) : region_(region) {}
  RegionTensors take(T value) {
    auto tensors = tensors_of(region_, value);
    Leaves leaves;
    flatten(value, leaves);
    const std::vector<int64_t> key(leaves.key.begin(), leaves.key.end());
    if (pattern_ && (key != key_ || tensors.size() != count_)) refuse_structure(region_, false);
    if (!pattern_) {
      key_ = key;
      count_ = tensors.size();
      pattern_.emplace(tree_of(value, RegionTensors()));
    }
    return tensors;
  }
  T tree(const RegionTensors& tensors) const { return tree_of(*pattern_, tensors); }

 private:
  const char* region_;
  std::vector<int64_t> key_;
  size_t count_ = 0;
  std::optional<T> pattern_;
};

template <class F, class... Args>
using RegionReturn = std::remove_cvref_t<std::invoke_result_t<F&, const Args&...>>;

template <class F, class... Args>
auto call_whole(RegionForm form, const char* region, std::string name, F&& function, const Args&... args) {
  using Result = RegionReturn<F, Args...>;
  const std::tuple<Args...> given(args...);
  auto result = std::make_shared<RegionResult<Result>>(region);
  RegionCall call;
  call.form = form;
  call.name = std::move(name);
  call.arguments = tensors_of(region, given);
  // A backward pass may call it after this function has returned.
  call.bodies = {[function = std::decay_t<F>(function), given, result](const RegionTensors& tensors) mutable {
    auto own = tree_of(given, tensors);
    return result->take(std::apply(function, own));
  }};
  return result->tree(run_region(call));
}

template <class T>
struct IsTuple : std::false_type {};
template <class... T>
struct IsTuple<std::tuple<T...>> : std::true_type {};

}  // namespace detail

/// Returns what `if_true` or `if_false` returns for these arguments: that of the first if `condition`, a
/// tensor of one element, is not 0. Only that one runs. In a compiled function, both have to return tensors
/// of the same shapes and dtypes.
template <class F, class G, class... Args>
auto cond(const at::Tensor& condition, F&& if_true, G&& if_false, const Args&... args) {
  using Result = detail::RegionReturn<F, Args...>;
  static_assert(std::is_same_v<Result, detail::RegionReturn<G, Args...>>,
                "the branches of cond() return different types");
  detail::RegionResult<Result> result("cond");
  detail::RegionCall call;
  call.form = detail::RegionForm::Cond;
  call.operands = {condition};
  call.arguments = detail::tensors_of("cond", std::tuple<Args...>(args...));
  call.bodies = {[&](const detail::RegionTensors&) { return result.take(if_true(args...)); },
                 [&](const detail::RegionTensors&) { return result.take(if_false(args...)); }};
  return result.tree(detail::run_region(call));
}

/// Replaces the arguments by what `body` returns for them (a tuple, if there are several) as long as
/// `condition` returns a tensor of one element that is not 0. Returns the last ones.
template <class C, class F, class... Args>
auto while_loop(C&& condition, F&& body, const Args&... args) {
  using State = std::tuple<Args...>;
  const State state(args...);
  detail::RegionCall call;
  call.form = detail::RegionForm::WhileLoop;
  call.operands = detail::tensors_of("while_loop", state);
  call.carried = call.operands.size();
  const auto turn = [&](const detail::RegionTensors& tensors) -> State {
    auto now = detail::tree_of(state, tensors);
    if constexpr (detail::IsTuple<std::remove_cvref_t<decltype(std::apply(body, now))>>::value)
      return std::apply(body, now);
    else
      return State(std::apply(body, now));
  };
  detail::RegionResult<State> result("while_loop");
  result.take(state);
  call.bodies = {[&](const detail::RegionTensors& tensors) {
                   auto now = detail::tree_of(state, tensors);
                   return detail::RegionTensors{std::apply(condition, now)};
                 },
                 [&](const detail::RegionTensors& tensors) { return result.take(turn(tensors)); }};
  auto last = detail::tree_of(state, detail::run_region(call));
  if constexpr (sizeof...(Args) == 1)
    return std::get<0>(std::move(last));
  else
    return last;
}

/// Calls `body(carry, x)` for each element `x` of the first dim of `xs`, in order. It returns the next carry
/// and a result, as a pair. Returns the last carry, and the results stacked along a new first dim.
template <class F, class Carry, class Xs>
auto scan(F&& body, const Carry& carry, const Xs& xs) {
  using Pair = detail::RegionReturn<F, Carry, Xs>;
  detail::RegionResult<Pair> result("scan");
  detail::RegionCall call;
  call.form = detail::RegionForm::Scan;
  call.operands = detail::tensors_of("scan", carry);
  call.carried = call.operands.size();
  const auto lists = detail::tensors_of("scan", xs);
  call.sliced = lists.size();
  call.operands.insert(call.operands.end(), lists.begin(), lists.end());
  const std::pair<Carry, Xs> like(carry, xs);
  call.bodies = {[&](const detail::RegionTensors& tensors) {
    auto now = detail::tree_of(like, tensors);
    return result.take(body(now.first, now.second));
  }};
  return result.tree(detail::run_region(call));
}

/// Calls `body(x)` for each element `x` of the first dim of `xs`. Returns the results stacked along a new
/// first dim.
template <class F, class Xs>
auto map(F&& body, const Xs& xs) {
  using Result = detail::RegionReturn<F, Xs>;
  detail::RegionResult<Result> result("map");
  detail::RegionCall call;
  call.form = detail::RegionForm::Map;
  call.operands = detail::tensors_of("map", xs);
  call.sliced = call.operands.size();
  call.bodies = {[&](const detail::RegionTensors& tensors) {
    auto now = detail::tree_of(xs, tensors);
    return result.take(body(now));
  }};
  return result.tree(detail::run_region(call));
}

/// Returns x0, combine(x0, x1), combine(combine(x0, x1), x2) …, stacked, for the elements of the first dim of
/// `xs`. `combine(a, b)` takes many pairs at once, whose number is the first dim of a and b (1 or more), and
/// returns as many results, of the shape and dtype of b. It must be associative: it is called about
/// 2 log2(n) times instead of n - 1 times, for neighbours before their neighbours. It is ordinary code, also
/// in compiled functions.
template <class F, class Xs>
Xs associative_scan(F&& combine, const Xs& xs) {
  detail::RegionResult<Xs> result("associative_scan");
  const auto lists = result.take(xs);
  const auto both = [&](const detail::RegionTensors& a, const detail::RegionTensors& b) {
    return result.take(combine(detail::tree_of(xs, a), detail::tree_of(xs, b)));
  };
  return detail::tree_of(xs, detail::scan_associatively(both, lists));
}

/// Returns `function(args...)`. Its backward pass calls the function again, instead of keeping what it has
/// computed; random numbers are the same then. The function is copied: what it captures by reference must
/// live until the backward pass.
template <class F, class... Args>
auto checkpoint(F&& function, const Args&... args) {
  return detail::call_whole(detail::RegionForm::Checkpoint, "checkpoint", "", function, args...);
}

/// Returns `function(args...)`. In compiled functions it is compiled once for all calls that do the same to
/// arguments and other tensors of the same shapes: the layers of a deep net, for instance.
template <class F, class... Args>
auto region(std::string name, F&& function, const Args&... args) {
  return detail::call_whole(detail::RegionForm::Call, "region", std::move(name), function, args...);
}

}  // namespace antegrad
