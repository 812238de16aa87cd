// Negative log-likelihood of class targets: classes are dimension 1 of [N, C] or [N, C, H, W].
#include "passes/decompositions/decompositions.h"

namespace antegrad::passes {
namespace {

struct Targets {
  Value index;      ///< i64, without the class dimension
  int64_t ignored;  ///< targets of this class do not count
  ir::Dim classes;

  Targets(Builder& b, const Call& call, Value scores, size_t target_at, size_t ignored_at)
      : index(b.to(call.tensor(target_at), ir::DType::I64)), ignored(call.integer(ignored_at)) {
    if (b.rank(scores) < 2 || b.rank(index) + 1 != b.rank(scores)) throw NotHandled();
    classes = b.sizes(scores)[1];
  }

  Value counts(Builder& b) const { return b.compare("ne", index, ignored); }
  bool ignores_a_class() const {
    return ignored >= 0 && !(classes.is_constant() && ignored >= classes.constant());
  }
};

/// Reads the score of each target. Ignored targets may be out of range, so they read class 0; for others out
/// of range gather throws, as LibTorch's op does.
Value picked(Builder& b, Value scores, Value safe_index) {
  const auto index = b.unsqueeze(safe_index, 1);
  const auto gathered =
      b.emit("aten.gather", {scores, 1, index},
             ir::contiguous_tensor(b.type(scores).dtype, b.sizes(index), b.type(scores).device));
  return b.squeeze(gathered, {1});
}

void nll_loss_forward(Builder& b, const Call& call) {
  const auto dtype = wide(call.type(call.tensor(0)).dtype);
  const auto reduction = call.integer(3);
  const Targets targets(b, call, call.tensor(0), 1, 4);
  const auto counts = targets.counts(b);
  const auto safe = b.where(counts, targets.index, 0);
  auto losses = b.neg(b.to(picked(b, call.tensor(0), safe), dtype));
  Value weights = b.to(counts, dtype);
  if (const auto weight = call.optional_tensor(2); weight.valid()) {
    const auto type = ir::contiguous_tensor(call.type(weight).dtype, b.sizes(safe), call.type(weight).device);
    const auto of_target = b.to(b.emit("aten.index.Tensor", {weight, ir::Arg::List{safe}}, type), dtype);
    losses = b.mul(losses, of_target);
    weights = b.where(counts, of_target, 0.0);
  }
  losses = b.where(counts, losses, 0.0);
  const auto& total_type = call.output_type(1);
  if (reduction == kNone) {
    b.define(call.output(0), losses);
    b.define(call.output(1), b.full(total_type.sizes, total_type.dtype, total_type.device, 0));
    return;
  }
  const auto total = b.sum(weights, b.all_dims(weights));
  auto loss = b.sum(losses, b.all_dims(losses));
  if (reduction == kMean) loss = b.div(loss, total);
  b.define(call.output(0), loss);
  b.define(call.output(1), total);
}

/// -weight * grad for the target class, 0 for others: needs no scatter.
void nll_loss_backward(Builder& b, const Call& call) {
  const auto dtype = wide(call.output_type(0).dtype);
  const auto scores = call.tensor(1);
  const auto reduction = call.integer(4);
  const Targets targets(b, call, scores, 2, 5);
  auto grad = b.neg(b.to(call.tensor(0), dtype));
  if (reduction == kMean) grad = b.div(grad, b.to(call.tensor(6), dtype));
  if (reduction == kNone) grad = b.unsqueeze(grad, 1);
  if (const auto weight = call.optional_tensor(3); weight.valid())
    grad = b.mul(grad, b.along(b.to(weight, dtype), 1, b.rank(scores)));
  const auto classes = b.along(b.arange(targets.classes, call.type(scores).device), 1, b.rank(scores));
  const auto index = b.unsqueeze(targets.index, 1);
  auto hit = b.compare("eq", index, classes);
  if (targets.ignores_a_class()) hit = b.both(hit, b.compare("ne", index, targets.ignored));
  b.define(call.output(0), b.where(hit, grad, 0.0));
}

constexpr DecompositionRow kNllLossRows[] = {
    {"aten.nll_loss_forward", nll_loss_forward},
    {"aten.nll_loss_backward", nll_loss_backward},
    {"aten.nll_loss2d_forward", nll_loss_forward},
    {"aten.nll_loss2d_backward", nll_loss_backward},
};

}  // namespace

std::span<const DecompositionRow> nll_loss_decompositions() { return kNllLossRows; }

}  // namespace antegrad::passes
