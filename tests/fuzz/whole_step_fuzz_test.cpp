// Random nets, optimizers and options: whole training steps against loops. Weights are tied, frozen, unused,
// overlap, are looked up in, written to and read through other tensors, by the function and between its
// calls. ANTEGRAD_FUZZ_SEED and ANTEGRAD_FUZZ_COUNT search other seeds, and longer.
#include <torch/nn/utils/clip_grad.h>

#include "fuzz/random_net.h"
#include "fuzz/random_optimizers.h"
#include "fuzz/search.h"
#include "support/optimizer_twins.h"

namespace antegrad::fuzz {
namespace {

using at::Tensor;
using Tensors = std::vector<Tensor>;

StepOptions random_step_options(Rng& rng) {
  StepOptions options;
  if (rng.percent(20))
    options.clip_norm = share(rng);
  else if (rng.percent(20))
    options.clip_value = share(rng) / 10;
  if (rng.percent(20)) options.gradients = Gradients::Keep;
  if (rng.percent(15)) options.accumulate = rng.range(2, 3);
  options.skip_nonfinite = rng.percent(10);
  if (rng.percent(30)) options.average = std::make_shared<WeightAverage>(share(rng));
  return options;
}

/// What a user does to nets between calls.
struct Action {
  enum Kind { None, Scale, Replace, Freeze } kind = None;
  size_t weight = 0;

  Action(Rng& rng, const RandomNet& net) : weight(static_cast<size_t>(rng.below(net.weights.size()))) {
    if (rng.percent(15)) kind = Scale;
    if (rng.percent(10)) kind = Replace;
    if (rng.percent(15) && weight != net.layers.back()) kind = Freeze;
  }
  void apply(const RandomNet& net) const {
    const at::NoGradGuard no_grad;
    auto tensor = net.weights[weight];
    if (kind == Scale) tensor.mul_(0.75);
    if (kind == Replace) tensor.set_data(tensor.detach().clone());
    if (kind == Freeze) tensor.set_requires_grad(!tensor.requires_grad());
  }
};

std::string difference(const Tensor& eager, const Tensor& compiled) {
  if (eager.defined() != compiled.defined()) return "defined in one of the two only";
  if (!eager.defined()) return "";
  if (eager.sizes() != compiled.sizes()) return c10::str("sizes ", eager.sizes(), " and ", compiled.sizes());
  if (at::allclose(compiled.detach(), eager.detach(), 1e-6, 1e-9)) return "";
  return c10::str("is ", compiled, " instead of ", eager);
}

std::string difference(const Tensors& eager, const Tensors& compiled, const char* what) {
  if (eager.size() != compiled.size()) return c10::str("the number of ", what);
  for (size_t i = 0; i < eager.size(); ++i)
    if (const auto text = difference(eager[i], compiled[i]); !text.empty())
      return c10::str(what, " ", i, " ", text);
  return "";
}

/// A net and its optimizer, trained by a loop or by steps.
class Trainer {
 public:
  Trainer(uint64_t seed, int64_t kind, const torch::optim::OptimizerOptions& settings)
      : net(seed),
        optimizer(make_optimizer(kind, {torch::optim::OptimizerParamGroup(net.trained)}, settings)) {}

  RandomNet net;
  std::unique_ptr<torch::optim::Optimizer> optimizer;
  Tensors results, gradients;  ///< of the last call and the last update

  void step_eagerly(const StepOptions& options, int64_t call, const Tensor& x) {
    if (call % options.accumulate == 0) optimizer->zero_grad();
    auto [loss, others] = net(x);
    loss.backward();
    results = others;
    results.push_back(loss);
    if ((call + 1) % options.accumulate != 0) return;
    gradients.clear();
    for (const auto& weight : net.trained) {
      auto& gradient = weight.mutable_grad();
      if (gradient.defined() && options.accumulate > 1) gradient /= options.accumulate;
      gradients.push_back(gradient.defined() ? gradient.clone() : gradient);
    }
    if (options.clip_norm) torch::nn::utils::clip_grad_norm_(net.trained, *options.clip_norm);
    if (options.clip_value) torch::nn::utils::clip_grad_value_(net.trained, *options.clip_value);
    optimizer->step();
  }

  template <class Step>
  void run(const Step& step, const Tensor& x) {
    const auto [loss, others] = step(x);
    results = others;
    results.push_back(loss);
    gradients.clear();
    for (const auto& weight : net.trained) gradients.push_back(weight.grad());
  }

  bool diverges() const {
    return std::ranges::any_of(net.weights, [](const Tensor& weight) {
      return weight.numel() > 0 && !(weight.detach().abs().max().item<double>() < 100);
    });
  }

  std::string difference_to(Trainer& compiled) {
    for (auto text : {difference(net.weights, compiled.net.weights, "weight"),
                      difference(net.buffers, compiled.net.buffers, "buffer"),
                      difference(results, compiled.results, "result")})
      if (!text.empty()) return text;
    for (size_t i = 0; i < net.trained.size(); ++i) {
      const auto &a = net.trained[i], &b = compiled.net.trained[i];
      if (a._version() != b._version())
        return c10::str("weight ", i, " has version ", b._version(), " instead of ", a._version());
      const auto from = test::state_of(*optimizer, a), to = test::state_of(*compiled.optimizer, b);
      if (from.exists != to.exists || from.steps != to.steps) return c10::str("steps of weight ", i);
      if (auto text = difference(from.tensors, to.tensors, "state"); !text.empty())
        return c10::str("weight ", i, ", ", text);
    }
    return "";
  }
};

std::string check_whole_step(uint64_t seed) {
  Rng rng(seed * 31 + 7);
  const auto kind = rng.percent(90) ? rng.below(kLion) : kNAdam;
  const auto settings = random_options(rng, kind);
  const auto options = random_step_options(rng);
  Trainer eager(seed, kind, *settings), compiled(seed, kind, *settings);
  const auto step =
      training_step([&](const Tensor& x) { return compiled.net(x); }, *compiled.optimizer, options);
  std::vector<std::pair<Tensor, Tensor>> batches;  // their memory is used again
  for (int64_t rows : {3, 2}) {
    batches.emplace_back(torch::empty({rows, eager.net.width()}, at::kDouble), Tensor());
    batches.back().second = batches.back().first.clone();
  }
  for (int64_t call = 0; call < 4 * options.accumulate; ++call) {
    const auto where = [&](const std::string& text) {
      return c10::str("seed ", seed, ", optimizer ", kind, ", call ", call, ": ", text);
    };
    if (call % options.accumulate == 0) {
      const Action action(rng, eager.net);
      action.apply(eager.net);
      action.apply(compiled.net);
    }
    auto [x, y] = batches[rng.percent(15) ? 1 : 0];
    y.copy_(x.normal_());
    eager.step_eagerly(options, call, x);
    const bool is_update = (call + 1) % options.accumulate == 0;
    const bool is_plain = options.accumulate == 1 && options.gradients == Gradients::Drop && !options.average;
    if (is_plain && rng.percent(10)) {
      compiled.step_eagerly(options, call, y);
      compiled.optimizer->zero_grad();
    } else {
      compiled.run(step, y);
      if (is_update && options.gradients == Gradients::Keep)
        if (auto text = difference(eager.gradients, compiled.gradients, "gradient"); !text.empty())
          return where(text);
    }
    if (auto text = eager.difference_to(compiled); !text.empty()) return where(text);
    if (auto text = difference(x, y); !text.empty()) return where("the batch " + text);
    if (eager.diverges()) break;  // and amplifies rounding errors
    if (rng.percent(30)) {
      const auto lr = share(rng) / 10;
      for (auto* trainer : {&eager, &compiled}) trainer->optimizer->param_groups()[0].options().set_lr(lr);
    }
  }
  if (step.report().eager_calls + step.step_report().eager_calls > 0)
    return c10::str("seed ", seed, " ran eagerly");
  return "";
}

TEST(WholeStepFuzz, Seeds0To79) { search("whole_step", {0, 80}, check_whole_step); }
TEST(FreshWholeStepFuzz, Steps) { search_fresh("whole_step", check_whole_step); }

}  // namespace
}  // namespace antegrad::fuzz
