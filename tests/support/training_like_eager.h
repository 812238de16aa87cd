#pragma once
// Runs a function and what follows it (backward passes, writes, hooks) eagerly and compiled in two equal
// worlds, and checks that the worlds cannot be told apart: all that against_eager.h compares, the gradients
// of all leaves, histories of results, and the texts of errors.
#include <functional>

#include "support/seeds.h"
#include "support/training_scene.h"

namespace antegrad::test {

struct TrainingOptions {
  Options compile{};
  Finish finish = backward_of_outputs;
  bool new_data = true;    ///< call a second time, with new arguments
  bool same_views = true;  ///< results that are views have the history of eager's view op
};

/// Functions and arguments of cases with their types erased: everything below is instantiated once.
using TensorFunction = std::function<Tensors(const Tensors&)>;
struct Subject {
  TensorFunction function;
  Tensors captured;
};
using MakeSubject = c10::function_ref<Subject()>;
using MakeArguments = c10::function_ref<Tensors()>;

template <size_t Count, class F>
TensorFunction over_tensors(const F& function) {
  return [function](const Tensors& arguments) {
    auto call = [&]<size_t... I>(std::index_sequence<I...>) { return tensors_of(function(arguments[I]...)); };
    return call(std::make_index_sequence<Count>());
  };
}

/// One function in one world, with the leaves whose gradients are compared.
class Trainee {
 public:
  using Wrap = std::function<TensorFunction(const TensorFunction&)>;
  Trainee(const MakeSubject& make_subject, const Wrap& wrap) {
    test::manual_seed(0);
    const auto subject = make_subject();
    function_ = wrap(subject.function);
    scene.captured = subject.captured;
    add(scene.captured);
  }

  void prepare(const MakeArguments& make, int seed) {
    test::manual_seed(seed);
    scene.inputs = make();
    add(scene.inputs);
  }
  /// Returns what the call throws.
  std::string call() {
    test::manual_seed(1);
    scene.outputs.clear();
    return thrown_by([&] {
      scene.outputs = function_(scene.inputs);
      for (const auto& tensor : scene.outputs)
        if (tensor.defined() && tensor.is_leaf()) add({tensor});
      add(scene.inputs);  // leaves by requires_grad_() inside
    });
  }
  Tensors gradients() const {
    Tensors all;
    for (const auto& leaf : leaves_) all.push_back(leaf.grad());
    return all;
  }

  Scene scene;

 private:
  void add(const Tensors& tensors) {
    for (const auto& tensor : tensors) add_leaves(tensor, leaves_);
  }

  TensorFunction function_;
  Tensors leaves_;
};

inline bool share_memory(const at::Tensor& a, const at::Tensor& b) {
  return a.defined() && b.defined() && a.is_alias_of(b);
}

/// Gradients of several uses are added in another order, also where LibTorch's kernels compute them.
inline void expect_same_gradients(const Tensors& eager, const Tensors& compiled, Comparisons& comparisons,
                                  const std::string& when) {
  ASSERT_EQ(eager.size(), compiled.size()) << when << ": leaves";
  for (size_t i = 0; i < eager.size(); ++i) {
    const auto name = c10::str(when, ", gradient ", i);
    ASSERT_EQ(eager[i].defined(), compiled[i].defined()) << name;
    if (!eager[i].defined()) continue;
    ASSERT_EQ(eager[i].dtype(), compiled[i].dtype()) << name;
    ASSERT_EQ(eager[i].sizes(), compiled[i].sizes()) << name;
    EXPECT_EQ(eager[i].strides(), compiled[i].strides()) << name;
    EXPECT_EQ(eager[i].requires_grad(), compiled[i].requires_grad()) << name;
    if (const auto difference = comparisons.difference(eager[i], compiled[i]))
      ADD_FAILURE() << name << ": " << *difference;
    for (size_t j = 0; j < i; ++j)
      EXPECT_EQ(share_memory(eager[i], eager[j]), share_memory(compiled[i], compiled[j]))
          << name << " and " << j;
  }
}

/// Results that are views have the history of that view op, unless a custom function made them.
inline void expect_histories(const Tensors& eager, const Tensors& compiled, const std::string& when) {
  for (size_t i = 0; i < eager.size(); ++i) {
    if (!eager[i].defined()) continue;
    ASSERT_EQ(eager[i].grad_fn() != nullptr, compiled[i].grad_fn() != nullptr) << when << ", output " << i;
    if (!eager[i].grad_fn() || !eager[i].is_view()) continue;
    if (eager[i].grad_fn()->name().find("CppNode") != std::string::npos) continue;
    EXPECT_EQ(eager[i].grad_fn()->name(), compiled[i].grad_fn()->name()) << when << ", output " << i;
  }
}

constexpr int kFirstSeed = 100;
inline int calls_of(const TrainingOptions& options) { return options.new_data ? 2 : 1; }

/// Records the gradients that eager has after each call of a case.
inline void train_eagerly(const MakeSubject& make_subject, const MakeArguments& make,
                          const TrainingOptions& options, Comparisons& seen) {
  Trainee eager(make_subject, [](const TensorFunction& function) { return function; });
  for (int call = 0; call < calls_of(options); ++call) {
    eager.prepare(make, kFirstSeed + call);
    eager.call();
    thrown_by([&] { options.finish(eager.scene); });
    for (const auto& gradient : eager.gradients())
      if (gradient.defined()) seen.difference(gradient, gradient);
  }
}

inline Report train_like_eager(const MakeSubject& make_subject, const MakeArguments& make,
                               const TrainingOptions& options) {
  auto settings = options.compile;
  settings.verify = true;
  std::function<Report()> report;
  Trainee eager(make_subject, [](const TensorFunction& function) { return function; });
  Trainee compiled(make_subject, [&](const TensorFunction& function) {
    auto result = compile(function, settings);
    report = [result] { return result.report(); };
    return result;
  });
  Worlds worlds;
  worlds.add("captured tensor", eager.scene.captured, compiled.scene.captured, false);
  Comparisons comparisons([&](Comparisons& seen) { train_eagerly(make_subject, make, options, seen); });
  for (int call = 0; call < calls_of(options); ++call) {
    const std::string when = call == 0 ? "first call" : "call with new data";
    eager.prepare(make, kFirstSeed + call);
    compiled.prepare(make, kFirstSeed + call);
    worlds.add(when + ", input", eager.scene.inputs, compiled.scene.inputs, false);
    const auto expected = eager.call();
    EXPECT_EQ(expected, compiled.call()) << when;
    if (eager.scene.outputs.size() != compiled.scene.outputs.size()) break;
    if (options.same_views) expect_histories(eager.scene.outputs, compiled.scene.outputs, when);
    worlds.add(when + ", output", eager.scene.outputs, compiled.scene.outputs, true);
    worlds.compare(when);
    EXPECT_EQ(thrown_by([&] { options.finish(eager.scene); }),
              thrown_by([&] { options.finish(compiled.scene); }))
        << when << ", afterwards";
    worlds.compare(when + ", afterwards");
    expect_same_gradients(eager.gradients(), compiled.gradients(), comparisons, when);
  }
  EXPECT_LE(report().captures, 1U) << ::testing::PrintToString(report().recapture_reasons);
  return report();
}

/// `make_function()` returns {callable, tensors it captures}, `make()` the arguments as a tuple: leaves,
/// other tensors that require gradients, views of them. Each is called once per world.
template <class MakeFunction, class Make>
Report trained_with_state_like_eager(const MakeFunction& make_function, const Make& make,
                                     const TrainingOptions& options = {}) {
  constexpr auto count = std::tuple_size_v<std::invoke_result_t<const Make&>>;
  auto make_subject = [&]() -> Subject {
    auto [function, captured] = make_function();
    return {over_tensors<count>(function), captured};
  };
  return train_like_eager(
      make_subject, [&] { return tensors_of(make()); }, options);
}

template <class F, class Make>
Report trained_like_eager(const F& function, const Make& make, const TrainingOptions& options = {}) {
  return trained_with_state_like_eager([&] { return std::pair(function, Tensors{}); }, make, options);
}
template <class F, class Make, class Do>
requires std::is_invocable_v<const Do&, const Scene&> Report trained_like_eager(const F& function,
                                                                                const Make& make,
                                                                                const Do& finish) {
  TrainingOptions options;
  options.finish = finish;
  return trained_like_eager(function, make, options);
}

}  // namespace antegrad::test
