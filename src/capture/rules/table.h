#pragma once
#include <ATen/core/ATen_fwd.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <initializer_list>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "capture/rules/rules.h"

namespace antegrad::capture::rules {

using at::Tensor;
using torch::jit::Stack;
using Sizes = std::vector<int64_t>;

/// Placeholder for an argument that does not affect the results' types.
struct Skip {};

/// One rule serves the op, its in-place variant (whose result is the first argument) and its out variants
/// (whose results are the last arguments, resized where their sizes differ). An out variant with a kernel of
/// its own gives a resized result the strides of the functional op's; one that LibTorch generates from the
/// functional op makes it contiguous. Null where there is no such variant.
struct RuleSet {
  ShapeRule functional = nullptr;
  ShapeRule inplace = nullptr;
  ShapeRule out = nullptr;
  ShapeRule generated_out = nullptr;
};

/// Replaces the stack by its first argument, after checking that `results` can be written into it.
void finish_inplace(Stack& stack, const std::vector<Tensor>& results);
/// Replaces the stack by its last arguments, resized to `results` where their sizes differ.
void finish_out(Stack& stack, const std::vector<Tensor>& results, bool contiguous);

namespace detail {

template <class T>
struct Unbox {
  static T from(const c10::IValue& value) { return value.to<T>(); }
};
template <>
struct Unbox<Tensor> {
  static Tensor from(const c10::IValue& value) { return value.isNone() ? Tensor() : value.toTensor(); }
};
template <>
struct Unbox<Skip> {
  static Skip from(const c10::IValue&) { return {}; }
};

template <class F>
struct Callable : Callable<decltype(&F::operator())> {};
template <class C, class R, class... Args>
struct Callable<R (C::*)(Args...) const> {
  using Result = R;
  template <class F>
  static R call(const F& rule, const Stack& stack) {
    TORCH_CHECK(stack.size() >= sizeof...(Args), "a shape rule needs ", sizeof...(Args), " arguments, got ",
                stack.size());
    return [&]<size_t... I>(std::index_sequence<I...>) {
      return rule(Unbox<std::decay_t<Args>>::from(stack[I])...);
    }
    (std::index_sequence_for<Args...>());
  }
};

template <class T>
constexpr bool kIsTuple = false;
template <class... T>
constexpr bool kIsTuple<std::tuple<T...>> = true;

/// In-place and out variants can be derived only for ops whose results are all tensors.
template <class T>
constexpr bool kIsTensors = std::is_same_v<T, Tensor>;
template <class... T>
constexpr bool kIsTensors<std::tuple<T...>> = (std::is_same_v<T, Tensor> && ...);

inline std::vector<Tensor> flat(Tensor result) { return {std::move(result)}; }
template <class... T>
std::vector<Tensor> flat(std::tuple<T...> results) {
  return std::apply([](auto&... each) { return std::vector<Tensor>{std::move(each)...}; }, results);
}

template <class F>
void run(Stack& stack) {
  at::AutoDispatchBelowADInplaceOrView below_autograd;
  using Result = typename Callable<F>::Result;
  if constexpr (std::is_void_v<Result>) {
    Callable<F>::call(F(), stack);
    stack.clear();
  } else if constexpr (kIsTuple<Result>) {
    auto results = Callable<F>::call(F(), stack);
    stack.clear();
    std::apply([&](auto&... each) { (stack.emplace_back(std::move(each)), ...); }, results);
  } else {
    auto result = Callable<F>::call(F(), stack);
    stack.clear();
    stack.emplace_back(std::move(result));
  }
}

template <class F>
void run_inplace(Stack& stack) {
  at::AutoDispatchBelowADInplaceOrView below_autograd;
  finish_inplace(stack, flat(Callable<F>::call(F(), stack)));
}

template <class F, bool contiguous>
void run_out(Stack& stack) {
  at::AutoDispatchBelowADInplaceOrView below_autograd;
  finish_out(stack, flat(Callable<F>::call(F(), stack)), contiguous);
}

}  // namespace detail

/// Rules by op name without "aten::". A rule is a captureless lambda over the op's leading arguments (as many
/// as matter) that returns a tensor, a vector of tensors, a tuple of these, or nothing.
class RuleTable {
 public:
  template <class F>
  void add(std::initializer_list<std::string_view> names, F) {
    using Result = typename detail::Callable<F>::Result;
    RuleSet set;
    set.functional = &detail::run<F>;
    if constexpr (detail::kIsTensors<Result>) {
      set.inplace = &detail::run_inplace<F>;
      set.out = &detail::run_out<F, false>;
      set.generated_out = &detail::run_out<F, true>;
    }
    for (auto name : names) add_set(name, set);
  }
  template <class F>
  void add(std::string_view name, F rule) {
    add({name}, rule);
  }
  /// Adds a rule for an op that exists only as an out variant: the rule of the missing functional op.
  template <class F>
  void add_out(std::string_view name, F) {
    RuleSet set;
    set.functional = &detail::run_out<F, false>;
    add_set(name, set);
  }

  const std::unordered_map<c10::OperatorName, RuleSet>& sets() const { return sets_; }

 private:
  void add_set(std::string_view name, const RuleSet& set);

  std::unordered_map<c10::OperatorName, RuleSet> sets_;
};

void add_attention_rules(RuleTable& table);
void add_composite_rules(RuleTable& table);
void add_convolution_rules(RuleTable& table);
void add_cuda_rules(RuleTable& table);
/// Ops whose CUDA kernels give results of other strides than those for the CPU.
void add_rules_of_cuda_kernels(RuleTable& table);
void add_distance_rules(RuleTable& table);
void add_embedding_rules(RuleTable& table);
void add_fft_rules(RuleTable& table);
void add_indexing_rules(RuleTable& table);
void add_linalg_rules(RuleTable& table);
void add_loss_rules(RuleTable& table);
void add_normalization_rules(RuleTable& table);
void add_optimizer_rules(RuleTable& table);
void add_pointwise_rules(RuleTable& table);
void add_pooling_rules(RuleTable& table);
void add_quantization_rules(RuleTable& table);
void add_random_rules(RuleTable& table);
void add_recurrent_rules(RuleTable& table);
void add_reduction_rules(RuleTable& table);

}  // namespace antegrad::capture::rules
