#include "fuzz/dynamic_check.h"

#include <torch/torch.h>

#include <algorithm>
#include <stdexcept>

#include "fuzz/compare.h"
#include "fuzz/dynamic_op.h"
#include "fuzz/script.h"
#include "fuzz/tangent.h"
#include "support/closeness.h"
#include "support/device.h"

namespace antegrad::fuzz {
namespace {

using at::Tensor;
using Difference = std::optional<std::string>;
using Callable = std::function<Tensors(const Tensors&)>;

/// The outcome of one call.
struct Outcome {
  Difference error;      ///< what it threw
  bool refused = false;  ///< antegrad refused the program
  Tensors inputs, outputs, gradients;
};

/// Derivatives of some outputs with respect to some leaves; of all with respect to all in every other call.
Tensors derivatives(const Tensors& outputs, const Tensors& leaves, uint64_t salt, bool again) {
  const auto chosen = [salt](size_t i) { return salt % 2 == 0 || Rng(salt * 1000 + i).percent(60); };
  Tensors roots, tangents, targets;
  for (size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i].defined() && outputs[i].requires_grad() && chosen(i)) {
      roots.push_back(outputs[i]);
      tangents.push_back(make_tangent(outputs[i], Rng(salt * 100 + roots.size())));
    }
  for (size_t i = 0; i < leaves.size(); ++i)
    if (chosen(i + 500)) targets.push_back(leaves[i]);
  if (roots.empty() || targets.empty()) return {};
  return scripted_grad(roots, targets, tangents, again, again, true);
}

/// Tangents depend only on the shapes of the outputs and on the call.
Tensors gradients_of(const Tensors& outputs, const Tensors& leaves, uint64_t salt, bool second_order) {
  auto first = derivatives(outputs, leaves, salt, second_order);
  if (!second_order) return first;
  auto second = derivatives(first, leaves, salt + 50, false);
  for (auto& gradient : first) second.push_back(gradient.defined() ? gradient.detach() : gradient);
  return second;
}

/// Programs may multiply sizes with each other many times.
constexpr int64_t kMostElements = 1 << 20;

void check_size(const Tensors& outputs) {
  int64_t elements = 0;
  for (const auto& output : outputs) elements += output.defined() ? output.numel() : 0;
  if (elements > kMostElements) throw std::length_error("its results are too large to be compared");
}

Outcome call(const Callable& function, DynamicInputs given, uint64_t salt, bool second_order) {
  Outcome out;
  try {
    out.outputs = function(given.inputs);
    check_size(out.outputs);
    out.gradients = gradients_of(out.outputs, given.leaves, salt, second_order);
  } catch (const Error& error) {
    out.error = error.what();
    out.refused = error.code() == ErrorCode::UnsupportedOp || error.code() == ErrorCode::UnsupportedTensor;
  } catch (const std::exception& error) {
    out.error = error.what();
  }
  out.inputs = std::move(given.inputs);
  return out;
}

/// Zero tensors of autograd have no memory.
Tensor with_memory(const Tensor& tensor) {
  return tensor._is_zerotensor() ? at::zeros(tensor.sizes(), tensor.options()) : tensor;
}

/// Eager's outcome, and how far it moves with perturbed roundings.
class Expected {
 public:
  Expected(const DynamicProgram& program, const Assignment& sizes, uint64_t salt)
      : program_(program), sizes_(sizes), salt_(salt), eager_(run_it()) {}

  const Outcome& eager() const { return eager_; }

  Difference difference(const Tensor& a, const Tensor& b, Tensors Outcome::*part, size_t index) {
    if (test::runs_libtorch_kernels() && part != &Outcome::gradients) return value_difference(a, b);
    if (test::up_to_relative_rounding(a, b)) return std::nullopt;
    const auto again = [&] {
      const ScriptPause not_again;
      const auto outcome = run_it();
      return outcome.error ? Tensors() : Tensors{with_memory((outcome.*part)[index])};
    };
    const auto allowed = test::roundings(again, {a});
    const auto wrong = test::wrong_elements(a, b, test::rounding_of(a.scalar_type()), allowed[0]);
    if (!wrong.any().item<bool>()) return std::nullopt;
    return test::describe_wrong(wrong, a, b, allowed[0]);
  }

 private:
  Outcome run_it() const {
    const at::AutoGradMode with_history(true);
    const auto function = [&](const Tensors& inputs) {
      script_call(inputs);
      auto outputs = run(program_, inputs);
      script_results(outputs);
      return outputs;
    };
    return call(function, make_inputs(program_, sizes_, salt_), salt_, program_.second_order);
  }

  const DynamicProgram& program_;
  const Assignment& sizes_;
  uint64_t salt_;
  Outcome eager_;
};

/// A backward pass may choose what it saves, and so which changes it detects.
bool changed_saved(const std::string& error) {
  return error.find("modified by an inplace operation") != std::string::npos;
}

/// Returns the number of the first tensor that shares the memory of this one.
size_t first_sharing(const Outcome& outcome, const Tensor& tensor) {
  size_t number = 0;
  for (const auto* list : {&outcome.inputs, &outcome.outputs})
    for (const auto& other : *list) {
      ++number;
      if (other.storage().is_alias_of(tensor.storage())) return number;
    }
  return 0;
}

bool same_strides(const Tensor& a, const Tensor& b) {
  for (int64_t d = 0; d < a.dim() && a.numel() > 0; ++d)
    if (a.size(d) != 1 && a.stride(d) != b.stride(d)) return false;
  return true;
}

/// Compares everything but the values.
Difference form_difference(const Tensor& a, const Tensor& b) {
  if (a.defined() != b.defined())
    return c10::str("is defined in ", a.defined() ? "eager" : "compiled", " only");
  if (a.scalar_type() != b.scalar_type())
    return c10::str("dtype is ", a.scalar_type(), " in eager and ", b.scalar_type(), " compiled");
  if (a.sizes() != b.sizes())
    return c10::str("sizes are ", a.sizes(), " in eager and ", b.sizes(), " compiled");
  return std::nullopt;
}

class Duel {
 public:
  Duel(const DynamicProgram& program, const Options& options)
      : program_(program),
        compiled_([&program](const Tensors& inputs) { return run(program, inputs); }, options) {}

  DynamicResult run_calls() {
    for (size_t c = 0; c < program_.calls.size() && !result_.difference; ++c) {
      const auto& sizes = program_.calls[c];
      const auto before = compiled_.report().captures;
      if (auto difference = one_call(sizes, c))
        result_.difference = c10::str("call ", c, " (", sizes_text(sizes), "): ", *difference);
      if (std::all_of(sizes.begin(), sizes.end(), [](int64_t n) { return n >= 2; }))
        result_.usual_captures += compiled_.report().captures - before;
    }
    result_.report = compiled_.report();
    return result_;
  }

 private:
  /// LibTorch's kernels for CUDA assert where an index is out of range, which ends the use of the device.
  bool asserts_on_cuda(const Assignment& sizes, uint64_t salt) const {
    if (!test::device().is_cuda()) return false;
    const test::OnCpu on_cpu;
    const ScriptPause not_again;
    return Expected(program_, sizes, salt).eager().error.has_value();
  }

  Difference one_call(const Assignment& sizes, uint64_t salt) {
    if (asserts_on_cuda(sizes, salt)) return std::nullopt;
    Expected expected(program_, sizes, salt);
    const ScriptPause other_side;
    const auto actual = call([&](const Tensors& inputs) { return compiled_(inputs); },
                             make_inputs(program_, sizes, salt), salt, program_.second_order);
    const auto& eager = expected.eager();
    if (eager.error) {
      ++result_.eager_threw;
      if (actual.error || changed_saved(*eager.error) || fails_in_vain(sizes)) return std::nullopt;
      return "only eager threw: " + eager.error->substr(0, 400);
    }
    if (actual.refused) {
      result_.refusal = *actual.error;
      return std::nullopt;
    }
    if (actual.error) return "only compiled threw: " + actual.error->substr(0, 1000);
    if (eager.outputs.size() != actual.outputs.size() || eager.gradients.size() != actual.gradients.size())
      return "another number of outputs or gradients";
    for (size_t i = 0; i < eager.outputs.size(); ++i)
      if (auto difference = output_difference(eager, actual, i))
        return c10::str("output ", i, " (v", program_.outputs[i], "): ", *difference);
    const std::pair<const char*, Tensors Outcome::*> parts[] = {
        {"input ", &Outcome::inputs}, {"output ", &Outcome::outputs}, {"gradient ", &Outcome::gradients}};
    for (const auto& [name, part] : parts)
      for (size_t i = 0; i < (eager.*part).size(); ++i)
        if (auto difference = numbers_difference(expected, actual, part, i))
          return c10::str(name, i, ": ", *difference);
    return std::nullopt;
  }

  /// Whether eager throws in a step of which only the sizes are used: compiled code does not run it.
  bool fails_in_vain(const Assignment& sizes) const {
    size_t reached = 0;
    try {
      run_all(program_, make_inputs(program_, sizes, 0).inputs, &reached);
    } catch (const std::exception&) {
      return !live_steps(program_)[reached];
    }
    return false;
  }

  static Difference output_difference(const Outcome& eager, const Outcome& actual, size_t i) {
    const auto &a = eager.outputs[i], &b = actual.outputs[i];
    if (auto difference = form_difference(a, b)) return difference;
    if (!same_strides(a, b))
      return c10::str("strides are ", a.strides(), " in eager and ", b.strides(), " compiled");
    if (a.storage_offset() != b.storage_offset())
      return c10::str("storage_offset is ", a.storage_offset(), " in eager and ", b.storage_offset());
    if (a.requires_grad() != b.requires_grad())
      return c10::str("requires_grad only in ", a.requires_grad() ? "eager" : "compiled");
    if (a.numel() > 0 && first_sharing(eager, a) != first_sharing(actual, b))
      return c10::str("shares memory with tensor ", first_sharing(eager, a), " in eager and ",
                      first_sharing(actual, b), " compiled");
    return std::nullopt;
  }

  static Difference numbers_difference(Expected& expected, const Outcome& actual, Tensors Outcome::*part,
                                       size_t i) {
    const at::NoGradGuard no_grad;
    const auto& eager = (expected.eager().*part)[i];
    const auto& compiled = (actual.*part)[i];
    if (auto difference = form_difference(eager, compiled)) return difference;
    if (!eager.defined()) return std::nullopt;
    const auto a = with_memory(eager), b = with_memory(compiled);
    return expected.difference(a, b, part, i);
  }

  const DynamicProgram& program_;
  Compiled<Callable> compiled_;
  DynamicResult result_;
};

/// Returns the kind of difference, without numbers.
std::string kind_of(const DynamicResult& result) {
  const auto text = result.difference.value_or("");
  const auto begin = text.find("): ");
  if (begin == std::string::npos) return text;
  return text.substr(begin + 3, text.substr(begin + 3).find_first_of("0123456789:"));
}

/// Returns candidates that are smaller in one respect, the largest reductions first.
std::vector<DynamicProgram> smaller_programs(const DynamicProgram& program) {
  std::vector<DynamicProgram> out;
  const auto add = [&](const auto& change) {
    auto candidate = program;
    change(candidate);
    out.push_back(without_dead_steps(candidate));
  };
  for (size_t o = 0; o < program.outputs.size() && program.outputs.size() > 1; ++o)
    add([o](DynamicProgram& p) { p.outputs.erase(p.outputs.begin() + static_cast<int64_t>(o)); });
  for (size_t c = 0; c < program.calls.size() && program.calls.size() > 1; ++c)
    add([c](DynamicProgram& p) { p.calls.erase(p.calls.begin() + static_cast<int64_t>(c)); });
  for (size_t i = program.steps.size(); i-- > 0;)
    for (const int arg : program.steps[i].args)  // takes the place of the step
      add([i, arg](DynamicProgram& p) {
        for (auto& step : p.steps) std::replace(step.args.begin(), step.args.end(), static_cast<int>(i), arg);
        std::replace(p.outputs.begin(), p.outputs.end(), static_cast<int>(i), arg);
        p.steps[i] = p.steps[static_cast<size_t>(arg)];  // no longer writes
      });
  if (program.second_order) add([](DynamicProgram& p) { p.second_order = false; });
  for (size_t i = 0; i < program.steps.size(); ++i) {
    const auto& input = program.steps[i].input;
    if (program.steps[i].op != nullptr) continue;
    if (input.gradient) add([i](DynamicProgram& p) { p.steps[i].input.gradient = false; });
    if (input.layout != DynamicLayout::Contiguous)
      add([i](DynamicProgram& p) { p.steps[i].input.layout = DynamicLayout::Contiguous; });
    if (!input.leaf) add([i](DynamicProgram& p) { p.steps[i].input.leaf = true; });
  }
  return out;
}

}  // namespace

DynamicResult check_dynamic(const DynamicProgram& program, const Options& options) {
  return Duel(program, options).run_calls();
}

DynamicProgram shrink_dynamic(const DynamicProgram& program, const Options& options, int most) {
  const auto kind = kind_of(check_dynamic(program, options));
  auto small = program;
  for (bool smaller = true; smaller;) {
    smaller = false;
    for (const auto& candidate : smaller_programs(small)) {
      if (most-- <= 0) return small;
      if (kind_of(check_dynamic(candidate, options)) != kind) continue;
      small = candidate;
      smaller = true;
      break;
    }
  }
  return small;
}

}  // namespace antegrad::fuzz
