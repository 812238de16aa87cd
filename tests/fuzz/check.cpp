#include "fuzz/check.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <c10/util/StringUtil.h>

#include "fuzz/compare.h"
#include "fuzz/script.h"

namespace antegrad::fuzz {
namespace {

using at::Tensor;
using Difference = std::optional<std::string>;

/// Both worlds of one program, and all tensors seen in them so far.
class Duel {
 public:
  Duel(const Program& program, const CompileWithCaptured& compile, const CheckOptions& options)
      : program_(program), options_(options) {
    const Program first = program.seed % 2 == 1 ? with_separate_inputs(program) : program;
    eager_ = make_world(first);
    const ScriptPause other_side;
    compiled_ = make_world(first);
    function_ =
        compile([program, captured = compiled_.captured, kept = std::make_shared<Kept>()](
                    Tensors inputs) { return run(program, inputs, captured, RunMode::Plain, kept.get()); },
                compiled_.captured);
    track("captured", eager_.captured, compiled_.captured, false);
    track("input", eager_.inputs, compiled_.inputs, false);
  }

  /// Returns false when eager refuses the call.
  bool call(Difference& difference) {
    ++calls_;
    before_ = versions();
    Tensors expected, actual;
    try {
      script_call(eager_.inputs);
      expected = run(program_, eager_.inputs, eager_.captured, RunMode::Checked, &kept_);
      script_results(expected);
    } catch (const std::exception&) {
      return false;
    }
    try {
      const ScriptPause other_side;
      actual = function_(compiled_.inputs);
    } catch (const std::exception& error) {
      difference = c10::str("call ", calls_, ": the compiled call threw: ", message_of(error));
      return true;
    }
    if (expected.size() != actual.size()) {
      difference = c10::str("call ", calls_, ": ", expected.size(), " outputs in eager and ", actual.size(),
                            " compiled");
      return true;
    }
    const size_t known = tensors_.size();
    track("output", expected, actual, true);
    difference = compare("after the call");
    if (!difference) difference = mutate_outputs(known);
    return true;
  }

  bool renew_inputs(const Program& structure) {
    ++renewals_;
    try {
      eager_.inputs = make_inputs(structure, eager_.captured, renewals_);
      const ScriptPause other_side;
      compiled_.inputs = make_inputs(structure, compiled_.captured, renewals_);
    } catch (const std::exception&) {
      return false;  // a captured tensor that inputs are views of has shrunk
    }
    track(("input made before call " + std::to_string(calls_ + 1) + ",").c_str(), eager_.inputs,
          compiled_.inputs, false);
    return true;
  }

 private:
  struct Versions {
    std::vector<int64_t> eager, compiled;
  };

  void track(const char* what, const Tensors& eager, const Tensors& compiled, bool output) {
    for (size_t i = 0; i < eager.size(); ++i) {
      std::string name = output ? c10::str(what, " ", i, " of call ", calls_) : c10::str(what, " ", i);
      tensors_.push_back({std::move(name), output, eager[i], compiled[i]});
    }
  }

  Versions versions() const {
    auto version = [](const Tensor& t) { return t.defined() ? static_cast<int64_t>(t._version()) : 0; };
    Versions all;
    for (const Tracked& t : tensors_) {
      all.eager.push_back(version(t.eager));
      all.compiled.push_back(version(t.compiled));
    }
    return all;
  }

  /// Outputs that were made inside have no version before the call, so only later changes of theirs count,
  /// unless they are in the storage of a tensor from outside.
  Difference version_difference() const {
    const Versions now = versions();
    for (size_t i = 0; i < tensors_.size(); ++i) {
      const bool is_new = i >= before_.eager.size();
      if (is_new && !options_.fresh_output_versions && !from_outside(tensors_[i].eager)) continue;
      const int64_t eager = now.eager[i] - (is_new ? 0 : before_.eager[i]);
      const int64_t compiled = now.compiled[i] - (is_new ? 0 : before_.compiled[i]);
      if (eager != compiled)
        return c10::str(tensors_[i].name, ": _version() ", is_new ? "is" : "grew by", " ", eager,
                        " in eager and ", compiled, " compiled");
    }
    return std::nullopt;
  }

  bool from_outside(const Tensor& tensor) const {
    if (!tensor.defined()) return false;
    for (const Tracked& t : tensors_)
      if (!t.output && t.eager.storage().is_alias_of(tensor.storage())) return true;
    return false;
  }

  Difference compare(const char* when) {
    script_look(c10::str("call ", calls_, ", ", when, ": input"), eager_.inputs);
    script_look(c10::str("call ", calls_, ", ", when, ": captured"), eager_.captured);
    Difference difference = first_difference(tensors_, options_);
    if (!difference) difference = version_difference();
    before_ = versions();
    if (difference) difference = c10::str("call ", calls_, ", ", when, ": ", *difference);
    return difference;
  }

  /// ALI-02, ALI-30, ALI-34: writes to outputs have eager's effect on everything that shares their storage.
  /// Each output gets another number, so that values show which of them share memory.
  Difference mutate_outputs(size_t first) {
    for (size_t i = first; i < tensors_.size(); ++i) {
      const Tracked& t = tensors_[i];
      if (!t.eager.defined() || overlaps_itself(t.eager)) continue;
      try {
        bump(t.eager, static_cast<int64_t>(i - first) + 1);
      } catch (const std::exception&) {
        continue;
      }
      try {
        const ScriptPause other_side;
        bump(t.compiled, static_cast<int64_t>(i - first) + 1);
      } catch (const std::exception& error) {
        return c10::str("call ", calls_, ": ", t.name,
                        ": in-place mutation threw only compiled: ", message_of(error));
      }
    }
    return compare("with outputs mutated in place");
  }

  static void bump(const Tensor& tensor, int64_t amount) {
    if (tensor.scalar_type() == at::kBool)
      tensor.logical_not_();
    else
      tensor.add_(amount);
  }

  const Program& program_;
  const CheckOptions& options_;
  World eager_;
  World compiled_;
  Fn function_;
  Kept kept_;  ///< what the eager function keeps
  std::vector<Tracked> tensors_;
  Versions before_;
  int calls_ = 0;
  uint64_t renewals_ = 0;
};

}  // namespace

std::string message_of(const std::exception& error) {
  const auto* torch_error = dynamic_cast<const c10::Error*>(&error);
  return torch_error ? torch_error->what_without_backtrace() : error.what();
}

namespace {

Difference check_in_steps(const Program& program, const CompileWithCaptured& compile,
                          const CheckOptions& options) {
  Duel duel(program, compile, options);
  Difference difference;
  for (int same_inputs = 0; same_inputs < 2; ++same_inputs)
    if (!duel.call(difference) || difference) return difference;
  // ALI-46, ALI-48: what was compiled for one structure of inputs must not serve another.
  for (const Program& structure : {program, with_separate_inputs(program)})
    if (!duel.renew_inputs(structure) || !duel.call(difference) || difference) return difference;
  return difference;
}

}  // namespace

std::optional<std::string> check_with_captured(const Program& program, const CompileWithCaptured& compile,
                                               const CheckOptions& options) {
  const at::NoGradGuard no_grad;
  test::Comparisons comparisons([&](test::Comparisons& repetition) {
    const ScriptPause not_again;
    CheckOptions of_eager = options;
    of_eager.comparisons = &repetition;
    check_in_steps(
        program, [](Fn function, const Tensors&) { return function; }, of_eager);
  });
  CheckOptions with_comparisons = options;
  with_comparisons.comparisons = &comparisons;
  return check_in_steps(program, compile, with_comparisons);
}

std::optional<std::string> check(const Program& program, const Compile& compile,
                                 const CheckOptions& options) {
  return check_with_captured(
      program, [&](Fn function, const Tensors&) { return compile(std::move(function)); }, options);
}

}  // namespace antegrad::fuzz
