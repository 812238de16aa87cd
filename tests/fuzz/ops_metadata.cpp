#include "fuzz/op.h"

namespace antegrad::fuzz {
namespace {

using at::Tensor;

/// Whether the function captures the tensor, even if it is also an argument: the compiler refuses to change
/// the shape or storage of such a tensor.
bool is_captured(const Scope& scope, const Tensor& tensor) {
  for (const Var& var : scope.vars())
    if (var.captured && var.tensor.is_same(tensor)) return true;
  return false;
}

Op metadata(const char* name, bool GeneratorConfig::*enabled, int64_t min_dim,
            std::function<Sizes(Rng&, const Tensor&)> choose,
            std::function<void(const Tensor&, const Sizes&)> function) {
  Op op{name, OpGroup::Metadata};
  op.enabled = enabled;
  op.propose = [=](Rng& rng, const Scope& scope, Statement& s) {
    const Var* x = scope.pick(rng, has_dim(min_dim));
    if (!x || is_captured(scope, x->tensor)) return false;
    s.args = {x->id};
    s.ints = choose(rng, x->tensor);
    return true;
  };
  op.apply = [function](const Tensors& t, const Statement& s) {
    function(t[0], s.ints);
    return Tensors{};
  };
  return op;
}

Sizes new_sizes(Rng& rng, const Tensor& t) {
  // Growing memory that other tensors share is refused too.
  const bool may_grow = !t.is_view() && t.storage().use_count() == 1;
  Sizes sizes = t.sizes().vec();
  for (int64_t& size : sizes)
    size = rng.range(std::min<int64_t>(1, size), size + (may_grow && rng.percent(20) ? 1 : 0));
  return sizes;
}

/// Fills memory that may be new.
void resize(const Tensor& t, const Sizes& sizes) {
  const bool within = t.is_contiguous() && c10::multiply_integers(sizes) <= t.numel();
  t.resize_(sizes);
  if (!within) t.fill_(1);
}

}  // namespace

void add_metadata_ops(std::vector<Op>& table) {
  const auto transpose = &GeneratorConfig::transpose_inplace;
  auto two_dims = [](Rng& rng, const Tensor& t) { return Sizes{rng.below(t.dim()), rng.below(t.dim())}; };
  auto one_dim = [](Rng& rng, const Tensor& t) { return Sizes{rng.below(t.dim())}; };
  auto new_dim = [](Rng& rng, const Tensor& t) { return Sizes{rng.below(t.dim() + 1)}; };
  auto nothing = [](Rng&, const Tensor&) { return Sizes{}; };
  table.push_back(metadata("t_", transpose, 2, nothing, [](const Tensor& t, const Sizes&) { t.t_(); }));
  table.push_back(metadata("transpose_", transpose, 2, two_dims,
                           [](const Tensor& t, const Sizes& i) { t.transpose_(i[0], i[1]); }));
  table.push_back(metadata("squeeze_", &GeneratorConfig::squeeze_inplace, 1, one_dim,
                           [](const Tensor& t, const Sizes& i) { t.squeeze_(i[0]); }));
  table.push_back(metadata("unsqueeze_", &GeneratorConfig::unsqueeze_inplace, 0, new_dim,
                           [](const Tensor& t, const Sizes& i) { t.unsqueeze_(i[0]); }));
  table.push_back(metadata("resize_", &GeneratorConfig::resize_inplace, 1, new_sizes, resize));

  Op set{"set_", OpGroup::Metadata};
  set.enabled = &GeneratorConfig::set_inplace;
  set.propose = [](Rng& rng, const Scope& scope, Statement& s) {
    const Var* x = scope.pick(rng);
    if (!x || is_captured(scope, x->tensor)) return false;
    const Var* source =
        scope.pick(rng, [&](const Tensor& t) { return t.scalar_type() == x->tensor.scalar_type(); });
    s.args = {x->id, source->id};
    return true;
  };
  set.apply = [](const Tensors& t, const Statement&) {
    t[0].set_(t[1]);
    return Tensors{};
  };
  table.push_back(set);
}

}  // namespace antegrad::fuzz
