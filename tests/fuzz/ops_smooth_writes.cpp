#include "fuzz/op.h"

namespace antegrad::fuzz {
namespace {

using at::Tensor;
using Write = std::function<void(const Tensors&)>;

/// args = {x, tensors that broadcast to x}
Op smooth_write(const char* name, size_t count, Write function) {
  Op op{name, OpGroup::InPlace};
  op.enabled = &GeneratorConfig::gradients;
  op.smooth = true;
  op.writes = 1;
  op.elementwise = true;
  op.propose = [count](Rng& rng, const Scope& scope, Statement& s) {
    const Var* x = scope.pick(rng, is_float);
    if (!x) return false;
    auto fits = [&](const Tensor& t) {
      return t.scalar_type() == x->tensor.scalar_type() && broadcasts_to(t, x->tensor);
    };
    s.args = {x->id};
    while (s.args.size() < count) s.args.push_back(scope.pick(rng, fits)->id);
    return true;
  };
  op.apply = [function](const Tensors& t, const Statement&) {
    function(t);
    return Tensors{};
  };
  return op;
}

}  // namespace

void add_smooth_writes(std::vector<Op>& table) {
  const std::vector<std::tuple<const char*, size_t, Write>> writes = {
      {"tanh_", 1, [](const Tensors& t) { t[0].tanh_(); }},
      {"sigmoid_", 1, [](const Tensors& t) { t[0].sigmoid_(); }},
      {"sin_", 1, [](const Tensors& t) { t[0].sin_(); }},
      {"mul_", 1, [](const Tensors& t) { t[0].mul_(1.5); }},
      {"add_", 2, [](const Tensors& t) { t[0].add_(t[1]); }},
      {"mul_", 2, [](const Tensors& t) { t[0].mul_(t[1]); }},
      {"copy_", 2, [](const Tensors& t) { t[0].copy_(t[1]); }},
      {"div_", 2, [](const Tensors& t) { t[0].div_(at::add(at::square(t[1]), 1)); }},
      {"addcmul_", 3, [](const Tensors& t) { t[0].addcmul_(t[1], t[2], 0.5); }},
      {"lerp_", 2, [](const Tensors& t) { t[0].lerp_(t[1], 0.25); }},
      {"masked_fill_", 2, [](const Tensors& t) { t[0].masked_fill_(at::gt(t[1], 0), 2); }},
  };
  for (const auto& [name, count, function] : writes) table.push_back(smooth_write(name, count, function));
}

}  // namespace antegrad::fuzz
