#pragma once
// Calls to differentiate as functions of their tensors: sampled ATen overloads and C++ functions.
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/torch.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "aten/convert.h"
#include "samples/functions.h"
#include "samples/rows.h"
#include "samples/samples.h"

namespace antegrad::test {

using Tensors = std::vector<at::Tensor>;

struct GradientCase {
  std::string op;                   ///< "aten::mul.Tensor", or a name in samples/functions.h
  std::function<Tensors()> inputs;  ///< new tensors each time, always equal; some may be undefined
  std::function<Tensors(const Tensors&)> function;
  std::vector<bool> written;  ///< for each input, whether the op writes to it
};

inline Tensors tensors_of(const c10::Stack& stack) {
  Tensors out;
  for (const auto& value : stack)
    aten::map_tensors(value, [&](const at::Tensor& t) { return out.emplace_back(t); });
  return out;
}

inline c10::Stack with_tensors(const c10::Stack& stack, const Tensors& tensors) {
  size_t next = 0;
  c10::Stack out;
  for (const auto& value : stack)
    out.push_back(aten::map_tensors(value, [&](const at::Tensor&) { return tensors.at(next++); }));
  return out;
}

inline bool is_written(const c10::Argument& argument) {
  return argument.alias_info() && argument.alias_info()->isWrite();
}

inline std::vector<bool> written_tensors(const samples::Sample& sample) {
  const auto& schema = samples::find_overload(sample.op).schema();
  std::vector<bool> written;
  for (size_t i = 0; i < sample.args.size(); ++i)
    written.resize(written.size() + tensors_of({sample.args[i]}).size(), is_written(schema.arguments()[i]));
  return written;
}

/// Calls the overload boxed. It writes to clones, because leaves must not be written to; the clones are
/// results too.
inline Tensors call_overload(const samples::Sample& sample, const std::vector<bool>& written,
                             const Tensors& inputs) {
  Tensors tensors = inputs;
  for (size_t i = 0; i < tensors.size(); ++i)
    if (written[i] && tensors[i].defined()) tensors[i] = tensors[i].clone();
  c10::Stack stack = with_tensors(sample.args, tensors);
  samples::find_overload(sample.op).callBoxed(stack);
  Tensors results = tensors_of(stack);
  for (size_t i = 0; i < tensors.size(); ++i)
    if (written[i]) results.push_back(tensors[i]);
  return results;
}

inline GradientCase case_of(samples::Sample sample) {
  auto shared = std::make_shared<const samples::Sample>(std::move(sample));
  const auto written = written_tensors(*shared);
  return {shared->op, [shared] { return tensors_of(samples::clone_args(*shared)); },
          [shared, written](const Tensors& inputs) { return call_overload(*shared, written, inputs); },
          written};
}

inline GradientCase case_of(const samples::Function& function, uint64_t seed) {
  return {function.name, [function, seed] { return samples::arguments_of(function, seed); }, function.call,
          std::vector<bool>(samples::arguments_of(function, seed).size(), false)};
}

inline bool writes_out(const std::string& op) {
  const auto& arguments = samples::find_overload(op).schema().arguments();
  return !arguments.empty() && arguments.back().is_out();
}

/// Returns every call of the sample tables that gradients may flow through: not those of out= overloads,
/// which cannot be differentiated, nor those that return uninitialized memory.
inline std::vector<GradientCase> gradient_cases(uint64_t seed) {
  std::vector<GradientCase> cases;
  for (auto* make : {samples::make, samples::make_composites})
    for (auto& sample : make(seed))
      if (!writes_out(sample.op) && !samples::is_uninitialized(sample.op)) cases.push_back(case_of(sample));
  for (const auto& function : samples::functions()) cases.push_back(case_of(function, seed));
  return cases;
}

/// Returns the floating-point and complex inputs; others have no gradients.
inline std::vector<size_t> real_or_complex(const Tensors& inputs) {
  std::vector<size_t> out;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].defined() && (inputs[i].is_floating_point() || inputs[i].is_complex())) out.push_back(i);
  return out;
}

/// Which inputs require grad.
enum class Wanted {
  All,
  NotWritten,  ///< running statistics of normalizations are not differentiated
  First,       ///< some ops have no derivative with respect to their other tensors: targets, weights, random
               ///< samples
};

inline Tensors differentiable_inputs(const GradientCase& call, Wanted wanted) {
  const auto inputs = call.inputs();
  for (size_t i : real_or_complex(inputs)) {
    if (wanted == Wanted::NotWritten && call.written[i]) continue;
    inputs[i].set_requires_grad(true);
    if (wanted == Wanted::First) break;
  }
  return inputs;
}

}  // namespace antegrad::test
