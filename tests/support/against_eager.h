#pragma once
// Runs a function eagerly and compiled in two equal worlds, and checks that the worlds cannot be told apart:
// values, dtypes, sizes, strides, offsets, requires_grad, is_leaf, versions, whole storages of inputs, and
// which tensors are the same object, share memory or are views of which. Part of every case: ALI-01, ALI-02.
#include <antegrad/antegrad.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "fuzz/check.h"
#include "fuzz/compare.h"
#include "support/seeds.h"

namespace antegrad::test {

using Tensors = std::vector<at::Tensor>;

template <class T>
Tensors tensors_of(const T& value) {
  Leaves leaves;
  flatten(value, leaves);
  return {leaves.tensors.begin(), leaves.tensors.end()};
}

template <class T>
std::vector<int64_t> numbers_of(const T& value) {
  Leaves leaves;
  flatten(value, leaves);
  return {leaves.key.begin(), leaves.key.end()};
}

/// All tensors of both worlds seen so far.
class Worlds {
 public:
  void add(const std::string& what, const Tensors& eager, const Tensors& compiled, bool output) {
    ASSERT_EQ(eager.size(), compiled.size()) << what;
    for (size_t i = 0; i < eager.size(); ++i) {
      if (!output && eager[i].defined() && eager[i].is_view())  // the caller's base of the view
        tensors_.push_back({what + " " + std::to_string(i) + "'s base", false, at::Tensor(eager[i]._base()),
                            at::Tensor(compiled[i]._base())});
      tensors_.push_back({what + " " + std::to_string(i), output, eager[i], compiled[i]});
    }
  }

  /// Reports only the first difference: later ones follow from it.
  void compare(const std::string& when) {
    if (differ_) return;
    auto difference = fuzz::first_difference(tensors_, {});
    for (size_t i = 0; i < tensors_.size() && !difference; ++i) difference = autograd_difference(tensors_[i]);
    if (!difference) return;
    differ_ = true;
    ADD_FAILURE() << when << ": " << *difference;
  }

  /// Adds a different number to each output, so that values show which outputs share memory.
  void mutate_outputs() {
    at::NoGradGuard no_grad;
    int64_t amount = 0;
    for (const auto& t : tensors_) {
      ++amount;
      if (!t.output || !t.eager.defined() || !t.compiled.defined() || t.eager.requires_grad()) continue;
      if (!can_be_written(t.eager)) continue;
      EXPECT_NO_THROW(mutate(t.compiled, amount)) << t.name;
      mutate(t.eager, amount);
    }
  }

 private:
  static std::optional<std::string> autograd_difference(const fuzz::Tracked& t) {
    if (!t.eager.defined()) return std::nullopt;
    auto differs = [&](const char* what, auto eager, auto compiled) {
      return c10::str(t.name, ": ", what, " is ", eager, " in eager and ", compiled, " compiled");
    };
    if (t.eager.is_leaf() != t.compiled.is_leaf())
      return differs("is_leaf()", t.eager.is_leaf(), t.compiled.is_leaf());
    if (t.eager.is_inference() != t.compiled.is_inference())
      return differs("is_inference()", t.eager.is_inference(), t.compiled.is_inference());
    if (t.eager.is_inference() || t.eager._version() == t.compiled._version()) return std::nullopt;
    return differs("_version()", t.eager._version(), t.compiled._version());
  }
  static bool can_be_written(const at::Tensor& tensor) {
    for (int64_t d = 0; d < tensor.dim(); ++d)
      if (tensor.size(d) > 1 && tensor.stride(d) == 0) return false;
    return true;
  }
  static void mutate(const at::Tensor& tensor, int64_t amount) {
    if (tensor.scalar_type() == at::kBool)
      tensor.logical_not_();
    else
      tensor.add_(amount);
  }

  std::vector<fuzz::Tracked> tensors_;
  bool differ_ = false;
};

/// Compiled functions draw eager's random numbers, so that these can be compared.
inline Options eager_numbers() {
  Options options;
  options.rng = Rng::Eager;
  return options;
}

struct AgainstOptions {
  Options compile = eager_numbers();
  bool grad_mode = true;   ///< run the case with grad mode on …
  bool no_grad = true;     ///< … and off
  bool call_again = true;  ///< call once more with the inputs as the first call left them
};

/// One function in both worlds.
template <class F, class Make>
class Duel {
 public:
  Duel(F eager, Compiled<F> compiled, Make make, Worlds worlds)
      : eager_(std::move(eager)),
        compiled_(std::move(compiled)),
        make_(std::move(make)),
        worlds_(std::move(worlds)) {}

  using Arguments = std::invoke_result_t<Make&>;

  struct Inputs {
    Arguments eager, compiled;
  };
  Inputs make_inputs(int seed) {
    auto make = [&] {
      test::manual_seed(seed);
      return make_();
    };
    Inputs inputs{make(), make()};
    worlds_.add("seed " + std::to_string(seed) + ", input", tensors_of(inputs.eager),
                tensors_of(inputs.compiled), false);
    return inputs;
  }

  void call(Inputs& inputs, const std::string& when) {
    auto run = [](auto& function, auto& arguments) {
      test::manual_seed(1);
      return std::apply(function, arguments);
    };
    auto expected = run(eager_, inputs.eager);
    auto actual = run(compiled_, inputs.compiled);
    EXPECT_EQ(numbers_of(expected), numbers_of(actual)) << when;
    worlds_.add(when + ", output", tensors_of(expected), tensors_of(actual), true);
    worlds_.compare(when);
    worlds_.mutate_outputs();
    worlds_.compare(when + ", outputs mutated");
  }

  const Compiled<F>& compiled() const { return compiled_; }

 private:
  F eager_;
  Compiled<F> compiled_;
  Make make_;
  Worlds worlds_;
};

/// `make_function()` returns {callable, tensors it captures}, `make()` the arguments as a tuple. Each is
/// called once per world. Both may draw random numbers, which are the same in both worlds.
template <class MakeFunction, class Make>
Report against_eager_with_state(const MakeFunction& make_function, const Make& make,
                                const AgainstOptions& options = {}) {
  Report report;
  for (const bool grad_mode : {true, false}) {
    if (!(grad_mode ? options.grad_mode : options.no_grad)) continue;
    SCOPED_TRACE(grad_mode ? "grad mode on" : "grad mode off");
    at::AutoGradMode mode(grad_mode);
    test::manual_seed(0);
    auto [eager, eager_state] = make_function();
    test::manual_seed(0);
    auto [function, state] = make_function();
    Worlds worlds;
    worlds.add("captured tensor", eager_state, state, false);
    auto settings = options.compile;
    settings.verify = true;
    Duel duel(eager, compile(function, settings), make, std::move(worlds));
    auto first = duel.make_inputs(100);
    duel.call(first, "first call");
    auto second = duel.make_inputs(101);
    duel.call(second, "call with new data");
    EXPECT_EQ(duel.compiled().report().captures, 1U)
        << ::testing::PrintToString(duel.compiled().report().recapture_reasons);
    if (options.call_again) duel.call(first, "first inputs again");
    report = duel.compiled().report();
  }
  return report;
}

template <class F, class Make>
Report against_eager(const F& function, const Make& make, const AgainstOptions& options = {}) {
  return against_eager_with_state([&] { return std::pair(function, Tensors{}); }, make, options);
}

/// Returns how often `what` occurs in a graph text.
inline size_t count(const std::string& text, const std::string& what) {
  size_t found = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + what.size())) ++found;
  return found;
}

}  // namespace antegrad::test
