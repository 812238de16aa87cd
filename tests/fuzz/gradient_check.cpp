#include "fuzz/gradient_check.h"

#include <torch/torch.h>

#include "fuzz/compare.h"
#include "fuzz/ending.h"
#include "fuzz/op.h"
#include "fuzz/script.h"
#include "fuzz/tangent.h"

namespace antegrad::fuzz {
namespace {

using at::Tensor;
using Kind = Derivative::Kind;

/// The tensors of one derivative in one world.
struct Side {
  Tensors roots, tangents, targets;
  Tensors first, second;
};

class GradientDuel {
 public:
  GradientDuel(const Program& program, const Compile& compile, test::Comparisons& comparisons)
      : program_(program) {
    options_.autograd = true;
    options_.unit_strides = false;
    options_.comparisons = &comparisons;
    eager_ = make_world(program);
    const ScriptPause other_side;
    compiled_ = make_world(program);
    function_ = compile(
        [program, captured = compiled_.captured](Tensors inputs) { return run(program, inputs, captured); });
  }

  GradientResult check() {
    if (round() && renew_inputs()) round();
    return result_;
  }

 private:
  /// Returns false when there is nothing more to do.
  bool round() {
    ++calls_;
    disturbed_ = false;
    if (!call() || !compare("after the call")) return false;
    for (const Derivative& derivative : program_.derivatives)
      if (!differentiate(derivative)) return false;
    return compare("after the derivatives");
  }

  bool renew_inputs() {
    const auto of_captured =
        std::count_if(program_.tensors.begin(), program_.tensors.end(),
                      [](const TensorSpec& spec) { return spec.captured && spec.non_leaf; });
    for (World* world : {&eager_, &compiled_}) world->leaves.resize(static_cast<size_t>(of_captured));
    const Ending ending = attempt([&] {
      eager_.inputs = make_inputs(program_, eager_.captured, 1, &eager_.leaves);
      const ScriptPause other_side;
      compiled_.inputs = make_inputs(program_, compiled_.captured, 1, &compiled_.leaves);
    });
    return !ending.threw;
  }

  bool call() {
    const at::AutoGradMode mode(!program_.called_without_grad);
    before_ = versions();
    const bool done = in_both(
        "the call",
        [&] {
          script_call(eager_.inputs);
          eager_outputs_ = run(program_, eager_.inputs, eager_.captured, RunMode::Checked);
          script_results(eager_outputs_);
        },
        [&] { compiled_outputs_ = function_(compiled_.inputs); });
    if (!done) return false;
    if (eager_outputs_.size() != compiled_outputs_.size())
      return differs("the call", "another number of outputs");
    tensors_.clear();
    track("captured", eager_.captured, compiled_.captured, false);
    track("input", eager_.inputs, compiled_.inputs, false);
    track("leaf", eager_.leaves, compiled_.leaves, false);
    track("output", eager_outputs_, compiled_outputs_, true);
    return true;
  }

  /// Returns false when the check ends here, with or without a difference.
  bool in_both(const char* stage, const std::function<void()>& eager, const std::function<void()>& compiled) {
    const Ending expected = attempt(eager);
    if (expected.invalid) return false;
    const ScriptPause other_side;
    const Ending actual = attempt(compiled);
    if (!expected.threw && !actual.threw) return true;
    if (!expected.threw && actual.refused) result_.refusal = actual.message;
    if (actual.refused || is_about_views(expected)) return false;
    // A tensor that the first call wrote to has the history of that call, of which the two worlds free
    // different parts.
    if (calls_ > 1 && (is_freed_graph(expected) || is_freed_graph(actual))) return false;
    // A backward pass may choose what it saves, and so which changes it detects.
    if (disturbed_ && (is_changed(expected) || is_changed(actual))) return end_of_disturbed(expected, actual);
    if (!actual.threw && is_changed(expected)) return false;
    if (!expected.threw) return differs(stage, "only compiled threw: " + actual.message);
    if (!actual.threw) return differs(stage, "only eager threw: " + expected.message);
    if (!same_message(expected, actual))
      return differs(stage, "eager threw: " + expected.message + "\nbut compiled threw: " + actual.message);
    result_.eager_threw = true;
    return false;
  }

  bool end_of_disturbed(const Ending& eager, const Ending& compiled) {
    if (!eager.threw) result_.refusal = "only compiled minded that a tensor was changed before backward";
    result_.eager_threw = eager.threw && compiled.threw;
    return false;
  }

  bool differs(const char* stage, const std::string& how) {
    result_.difference = c10::str("call ", calls_, ", ", stage, ": ", how);
    return false;
  }

  // --- the state after a call

  void track(const char* what, const Tensors& eager, const Tensors& compiled, bool output) {
    for (size_t i = 0; i < eager.size(); ++i)
      tensors_.push_back({c10::str(what, " ", i), output, eager[i], compiled[i]});
  }

  std::vector<std::pair<int64_t, int64_t>> versions() const {
    std::vector<std::pair<int64_t, int64_t>> all;
    auto add = [&](const Tensors& eager, const Tensors& compiled) {
      for (size_t i = 0; i < eager.size(); ++i) all.emplace_back(eager[i]._version(), compiled[i]._version());
    };
    add(eager_.captured, compiled_.captured);
    add(eager_.inputs, compiled_.inputs);
    add(eager_.leaves, compiled_.leaves);
    return all;
  }

  bool compare(const char* stage) {
    const at::NoGradGuard no_grad;
    if (auto difference = first_difference(tensors_, options_)) return differs(stage, *difference);
    const auto now = versions();
    for (size_t i = 0; i < now.size(); ++i) {
      const int64_t eager = now[i].first - before_[i].first, compiled = now[i].second - before_[i].second;
      if (eager != compiled)
        return differs(stage, c10::str(tensors_[i].name, ": _version() grew by ", eager, " in eager and ",
                                       compiled, " compiled"));
    }
    return true;
  }

  // --- derivatives

  bool differentiate(const Derivative& derivative) {
    if (derivative.kind == Kind::Disturb) return disturb(derivative);
    if (derivative.kind == Kind::Subset) return subsets(derivative);
    Side eager, compiled;
    choose_roots(derivative, eager, compiled);
    if (eager.roots.empty()) return true;
    choose_targets(derivative, eager, compiled);
    if (eager.targets.empty()) return true;
    switch (derivative.kind) {
      case Kind::Backward:
      case Kind::Retain:
        return accumulate(derivative, eager, compiled);
      case Kind::Second:
        return first_order("grad with create_graph", eager, compiled, true) &&
               second_order(derivative, eager, compiled);
      case Kind::Subset:
      case Kind::Disturb:
        break;
    }
    return true;
  }

  /// A backward pass is made for each combination of outputs and inputs, so several are requested: from most
  /// outputs, from some, and from one or none.
  bool subsets(const Derivative& derivative) {
    for (int i = 0; i < 3; ++i) {
      const Derivative one{Kind::Subset, derivative.seed + static_cast<uint64_t>(i)};
      Side eager, compiled;
      choose_roots(one, eager, compiled, 75 - 25 * i);
      choose_targets(one, eager, compiled);
      if (eager.roots.empty() || eager.targets.empty()) continue;
      if (!first_order("grad of a subset", eager, compiled, false)) return false;
    }
    return true;
  }

  /// Derivatives see the old values, or throw.
  bool disturb(const Derivative& derivative) {
    const at::NoGradGuard no_grad;
    disturbed_ = true;
    for (size_t i = 0; i < tensors_.size(); ++i) {
      const Tracked& t = tensors_[i];
      if (!t.eager.defined() || !is_float(t.eager) || overlaps_itself(t.eager)) continue;
      if (has_uncounted_writes(t.eager)) continue;
      if (!rng_for(derivative, 5, static_cast<int>(i)).percent(30)) continue;
      if (!in_both(
              "a change in place", [&] { t.eager.add_(1); }, [&] { t.compiled.add_(1); }))
        return false;
    }
    return true;
  }

  /// Known gap: a write through variable_data() does not count for the tensors that share its memory, so that
  /// neither side notices it, and both compute from what they happen to have saved.
  bool has_uncounted_writes(const Tensor& tensor) {
    bool found = false;
    size_t next_input = 0, next_captured = 0;
    for (const TensorSpec& spec : program_.tensors) {
      const Tensor& given = spec.captured ? eager_.captured[next_captured++] : eager_.inputs[next_input++];
      found |= spec.link == Link::Data && given.storage().is_alias_of(tensor.storage());
    }
    return found;
  }

  static Rng rng_for(const Derivative& derivative, int purpose, int var) {
    return Rng(derivative.seed * 1000 + static_cast<uint64_t>(purpose * 100 + var + 1));
  }

  /// Chooses among the outputs, and inputs that have a history after the call.
  void choose_roots(const Derivative& derivative, Side& eager, Side& compiled, int64_t percent = 75) {
    auto consider = [&](const Tensor& e, const Tensor& c, int var, int64_t chance) {
      if (!e.defined() || !e.requires_grad() || !rng_for(derivative, 0, var).percent(chance)) return;
      for (const Tensor& root : eager.roots)
        if (root.is_same(e)) return;
      eager.roots.push_back(e);
      compiled.roots.push_back(c);
      const bool second = derivative.kind == Kind::Second && rng_for(derivative, 1, var).percent(60);
      for (auto* side : {&eager, &compiled})
        side->tangents.push_back(make_tangent(e, rng_for(derivative, 2, var)).requires_grad_(second));
    };
    for (size_t i = 0; i < eager_outputs_.size(); ++i)
      consider(eager_outputs_[i], compiled_outputs_[i], program_.outputs[i], percent);
    for_each_given([&](const Tensor& e, const Tensor& c, int var) {
      if (!e.is_leaf()) consider(e, c, var, 25);
    });
  }

  /// Inputs and captured tensors.
  void for_each_given(const std::function<void(const Tensor&, const Tensor&, int)>& visit) {
    size_t next_input = 0, next_captured = 0;
    for (const TensorSpec& spec : program_.tensors) {
      const size_t i = spec.captured ? next_captured++ : next_input++;
      if (spec.captured)
        visit(eager_.captured[i], compiled_.captured[i], spec.var);
      else
        visit(eager_.inputs[i], compiled_.inputs[i], spec.var);
    }
  }

  void choose_targets(const Derivative& derivative, Side& eager, Side& compiled) {
    const bool subset = derivative.kind == Kind::Subset;
    auto consider = [&](const Tensor& e, const Tensor& c, int var) {
      if (!e.defined() || !e.requires_grad() || (!e.is_leaf() && (!subset || was_written(e)))) return;
      if (subset && !rng_for(derivative, 3, var).percent(50)) return;
      eager.targets.push_back(e);
      compiled.targets.push_back(c);
    };
    for_each_given(consider);
    for (size_t i = 0; i < eager_.leaves.size(); ++i)
      consider(eager_.leaves[i], compiled_.leaves[i], 60 + static_cast<int>(i));
    for (size_t i = 0; i < eager_outputs_.size(); ++i)
      if (eager_outputs_[i].defined() && eager_outputs_[i].is_leaf())
        consider(eager_outputs_[i], compiled_outputs_[i], program_.outputs[i]);
  }

  /// An input that a call has written to is a result of that call, and other results are no functions of it
  /// any more.
  bool was_written(const Tensor& given) const {
    for (size_t i = 0; i < before_.size(); ++i)
      if (tensors_[i].eager.is_same(given)) return given._version() != before_[i].first;
    return false;
  }

  bool accumulate(const Derivative& derivative, Side& eager, Side& compiled) {
    const bool retain = derivative.kind == Kind::Retain;
    auto backward = [&](const Side& side) {
      return [&side, retain] { scripted_backward(side.roots, side.tangents, retain); };
    };
    if (!in_both("backward", backward(eager), backward(compiled))) return false;
    Tensors expected, actual;
    for (const Tensor& leaf : eager.targets) expected.push_back(leaf.grad());
    for (const Tensor& leaf : compiled.targets) actual.push_back(leaf.grad());
    return same_gradients("backward", expected, actual, result_.first_order);
  }

  bool first_order(const char* stage, Side& eager, Side& compiled, bool create_graph) {
    auto grad = [&](Side& side) {
      return [&side, create_graph] {
        side.first = scripted_grad(side.roots, side.targets, side.tangents, true, create_graph, true);
      };
    };
    return in_both(stage, grad(eager), grad(compiled)) &&
           same_gradients(stage, eager.first, compiled.first, result_.first_order, &eager);
  }

  bool second_order(const Derivative& derivative, Side& eager, Side& compiled) {
    Tensors roots[2], weights[2];
    for (size_t i = 0; i < eager.first.size(); ++i) {
      if (!eager.first[i].defined() || !eager.first[i].requires_grad()) continue;
      if (!compiled.first[i].requires_grad()) continue;  // a known gap, see is_constant_through_a_view()
      roots[0].push_back(eager.first[i]);
      roots[1].push_back(compiled.first[i]);
      for (auto& list : weights)
        list.push_back(make_tangent(eager.first[i], rng_for(derivative, 4, static_cast<int>(i))));
    }
    if (roots[0].empty()) return true;
    auto grad = [&](Side& side, size_t world) {
      return [&roots, &weights, &side, world] {
        Tensors targets = side.targets;
        for (const Tensor& tangent : side.tangents)
          if (tangent.requires_grad()) targets.push_back(tangent);
        side.second = scripted_grad(roots[world], targets, weights[world], true, false, true);
      };
    };
    return in_both("the second order", grad(eager, 0), grad(compiled, 1)) &&
           same_gradients("the second order", eager.second, compiled.second, result_.second_order);
  }

  /// Known gap: after a write to an argument that is a view, eager's gradient of the whole tensor is put
  /// together from that of the view, by writes through which it has a history even where it is constant.
  bool is_constant_through_a_view(const Tensor& gradient, const Side& eager) {
    const bool writes_to_view = std::any_of(eager_.inputs.begin(), eager_.inputs.end(), [&](const Tensor& x) {
      return x.defined() && x.is_view() && was_written(x);
    });
    if (!writes_to_view) return false;
    const ScriptPause not_the_program;
    Tensors variables = eager.targets;
    for (const Tensor& tangent : eager.tangents)
      if (tangent.requires_grad()) variables.push_back(tangent);
    const auto derivatives =
        torch::autograd::grad({gradient}, variables, {at::ones_like(gradient)}, true, false,
                              /*allow_unused=*/true);
    return std::all_of(derivatives.begin(), derivatives.end(), [](const Tensor& derivative) {
      return !derivative.defined() || !at::add(derivative, 0).any().item<bool>();
    });
  }

  /// `side`: of eager, where the gradients were taken with create_graph.
  bool same_gradients(const char* stage, const Tensors& eager, const Tensors& compiled, int& count,
                      const Side* side = nullptr) {
    for (size_t i = 0; i < eager.size(); ++i) {
      const Tensor &a = eager[i], &b = compiled[i];
      const std::string name = c10::str("gradient ", i, " ");
      if (a.defined() != b.defined())
        return differs(stage,
                       name + (a.defined() ? "is undefined only compiled" : "is defined only compiled"));
      if (!a.defined()) continue;
      if (a.sizes() != b.sizes() || a.scalar_type() != b.scalar_type())
        return differs(stage, name + "has another shape or dtype");
      if (a.requires_grad() != b.requires_grad() &&
          !(a.requires_grad() && side != nullptr && is_constant_through_a_view(a, *side)))
        return differs(stage, name + (a.requires_grad() ? "requires grad only in eager"
                                                        : "requires grad only compiled"));
      if (auto difference = close_difference(a, b, options_)) return differs(stage, name + *difference);
      ++count;
    }
    return true;
  }

  const Program& program_;
  CheckOptions options_;
  World eager_, compiled_;
  Fn function_;
  Tensors eager_outputs_, compiled_outputs_;
  std::vector<Tracked> tensors_;
  std::vector<std::pair<int64_t, int64_t>> before_;
  GradientResult result_;
  int calls_ = 0;
  bool disturbed_ = false;
};

/// Suppresses autograd's warnings about slow layouts.
struct Silence final : c10::WarningHandler {
  void process(const c10::Warning&) override {}
};

}  // namespace

GradientResult check_gradients(const Program& program, const Compile& compile) {
  Silence silence;
  const c10::WarningUtils::WarningHandlerGuard silent(&silence);
  const at::AutoGradMode mode(true);
  test::Comparisons comparisons([&](test::Comparisons& repetition) {
    const ScriptPause not_again;
    GradientDuel(
        program, [](Fn function) { return function; }, repetition)
        .check();
  });
  return GradientDuel(program, compile, comparisons).check();
}

}  // namespace antegrad::fuzz
