#include "fuzz/op.h"

namespace antegrad::fuzz {
namespace {

using at::Tensor;

/// Picks only the newest tensor, and only if no other shares its memory: autograd would not track what was
/// computed from a tensor earlier.
bool propose_newest(Rng&, const Scope& scope, Statement& s) {
  const Var& newest = scope.vars().back();
  const Tensor& t = newest.tensor;
  if (!is_float(t) || !t.is_leaf() || t.is_view() || t.storage().use_count() > 1) return false;
  s.args = {newest.id};
  return true;
}

/// Picks a tensor that requires grad already, for which the op changes nothing.
bool propose_computed(Rng& rng, const Scope& scope, Statement& s) {
  const Var* x = scope.pick(rng, [](const Tensor& t) { return is_float(t) && !t.is_leaf(); });
  if (x) s.args = {x->id};
  return x != nullptr;
}

}  // namespace

/// Statements that only autograd sees.
void add_autograd_ops(std::vector<Op>& table) {
  for (const auto& propose : {propose_newest, propose_newest, propose_computed}) {
    Op op{"requires_grad_", OpGroup::Metadata, propose};
    op.enabled = &GeneratorConfig::gradients;
    op.smooth = true;
    op.apply = [](const Tensors& t, const Statement&) {
      t[0].requires_grad_(true);
      return Tensors{};
    };
    table.push_back(op);
  }
}

}  // namespace antegrad::fuzz
