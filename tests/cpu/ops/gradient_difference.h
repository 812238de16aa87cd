#pragma once
// How two derivatives differ.
#include <functional>

#include "cpu/ops/gradient_exceptions.h"
#include "cpu/ops/gradient_stages.h"
#include "support/closeness.h"

namespace antegrad::test {

struct Difference {
  Differs how = Differs::Wrong;
  std::string text;
};
using Differences = std::vector<Difference>;

/// Copies to memory that lazily conjugated, negated and zero tensors lack.
inline at::Tensor materialized(const at::Tensor& tensor) {
  if (tensor._is_zerotensor()) return at::zeros(tensor.sizes(), tensor.options());
  return tensor.detach().resolve_conj().resolve_neg().contiguous();
}

inline at::Tensor start_of(const at::Tensor& tensor) { return tensor.flatten().slice(0, 0, 8); }

/// Runs the eager side again, with new inputs.
using Again = std::function<Stages()>;

/// Compares element by element; the bound is how far eager itself moves with perturbed roundings.
inline bool differ_by_rounding(const at::Tensor& a, const at::Tensor& b, const Again& again,
                               Tensors Stages::*part, size_t index) {
  const auto rounding = rounding_of(a.scalar_type());
  if (!wrong_elements(a, b, rounding).any().item<bool>()) return true;
  if (epsilon_of(a.scalar_type()) == 0) return false;
  const auto allowed = roundings(
      [&] {
        const auto stages = again();
        const Tensors& tensors = stages.*part;
        return index < tensors.size() && tensors[index].defined() ? Tensors{materialized(tensors[index])}
                                                                  : Tensors();
      },
      {a});
  return !wrong_elements(a, b, rounding, allowed[0]).any().item<bool>();
}

inline void compare(const std::string& what, const at::Tensor& eager, const at::Tensor& compiled,
                    const Again& again, Tensors Stages::*part, size_t index, Differences& found) {
  const auto add = [&](Differs how, const auto&... text) {
    found.push_back({how, c10::str(what, ": ", text...)});
  };
  if (eager.defined() != compiled.defined())
    return add(Differs::Wrong, "defined ", eager.defined(), " / ", compiled.defined());
  if (!eager.defined()) return;
  if (eager.scalar_type() != compiled.scalar_type())
    return add(Differs::Wrong, "dtype ", eager.scalar_type(), " / ", compiled.scalar_type());
  if (eager.sizes() != compiled.sizes())
    return add(Differs::Wrong, "sizes ", eager.sizes(), " / ", compiled.sizes());
  if (eager.requires_grad() != compiled.requires_grad())
    add(Differs::Wrong, "requires_grad ", eager.requires_grad(), " / ", compiled.requires_grad());
  if (eager.numel() > 0 && eager.strides() != compiled.strides())
    add(Differs::Layout, "strides ", eager.strides(), " / ", compiled.strides());
  const auto a = materialized(eager);
  const auto b = materialized(compiled);
  if (same_bits(a, b)) return;
  const bool rounding = differ_by_rounding(a, b, again, part, index);
  if (rounding && !runs_libtorch_kernels()) return;  // generated code rounds differently
  add(rounding ? Differs::Rounding : Differs::Wrong, "values\n", start_of(a), "\n/\n", start_of(b));
}

inline void compare(const std::string& what, const Stages& eager, const Stages& compiled, const Again& again,
                    Tensors Stages::*part, Differences& found) {
  const Tensors &left = eager.*part, &right = compiled.*part;
  if (left.size() != right.size())
    return found.push_back({Differs::Wrong, c10::str(what, "s: ", left.size(), " / ", right.size())});
  for (size_t i = 0; i < left.size(); ++i)
    compare(c10::str(what, " ", i), left[i], right[i], again, part, i, found);
}

/// Classifies the difference of two sides that ended at different stages.
inline Differs end_difference(const Stages& eager, const Stages& compiled) {
  const bool refused = compiled.error.starts_with("[capture");
  if (eager.error.empty() && refused)
    return compiled.stage <= Stage::Backward ? Differs::RefusedFirst : Differs::RefusedSecond;
  if (eager.stage == Stage::Backward && refused && compiled.stage < eager.stage) return Differs::RefusedFirst;
  if (!eager.error.empty() && compiled.reached(eager.stage)) return Differs::NotRefused;
  return Differs::Wrong;
}

inline Differences differences(const Stages& eager, const Stages& compiled, const Again& again) {
  Differences found;
  for (auto [what, stage, member] : {std::tuple{"output", Stage::Forward, &Stages::outputs},
                                     {"gradient", Stage::Backward, &Stages::first},
                                     {"gradient with create_graph", Stage::CreateGraph, &Stages::first_kept},
                                     {"second gradient", Stage::SecondBackward, &Stages::second}}) {
    if (eager.reached(stage) && compiled.reached(stage)) compare(what, eager, compiled, again, member, found);
  }
  const bool ended_equally = eager.stage == compiled.stage && eager.error.empty() == compiled.error.empty();
  if (!ended_equally)
    found.push_back(
        {end_difference(eager, compiled),
         c10::str("eager ended in stage ", static_cast<int>(eager.stage), ": ", eager.error,
                  "\n  compiled in stage ", static_cast<int>(compiled.stage), ": ", compiled.error)});
  else if (compiled.error.find(eager.error) == std::string::npos)
    found.push_back(
        {Differs::OtherWords, c10::str("eager threw\n  ", eager.error, "\n  compiled\n  ", compiled.error)});
  return found;
}

}  // namespace antegrad::test
