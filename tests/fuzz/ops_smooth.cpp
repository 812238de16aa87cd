#include "fuzz/op.h"

namespace antegrad::fuzz {
namespace {

using at::Tensor;
/// Chooses arguments; returns false if the scope has none that fit.
using Choose = std::function<bool(Rng&, const Scope&, Statement&)>;

Op smooth(const char* name, Choose choose, std::function<Tensor(const Tensors&, const Sizes&)> function) {
  Op op{name, OpGroup::Pure, std::move(choose)};
  op.enabled = &GeneratorConfig::gradients;
  op.smooth = true;
  op.apply = [function](const Tensors& t, const Statement& s) { return Tensors{function(t, s.ints)}; };
  return op;
}

bool one(Rng& rng, const Scope& scope, Statement& s) {
  const Var* x = scope.pick(rng, is_float);
  if (x) s.args = {x->id};
  return x != nullptr;
}

/// ints = {dim}
bool one_with_dim(Rng& rng, const Scope& scope, Statement& s) {
  const Var* x = scope.pick(rng, has_dim(1, is_float));
  if (!x) return false;
  s.args = {x->id};
  s.ints = {rng.below(x->tensor.dim())};
  return true;
}

/// Chooses `count` tensors of one dtype, where the later ones broadcast to the first.
Choose several(size_t count) {
  return [count](Rng& rng, const Scope& scope, Statement& s) {
    const Var* first = scope.pick(rng, is_float);
    if (!first) return false;
    s.args = {first->id};
    while (s.args.size() < count)
      s.args.push_back(scope
                           .pick(rng,
                                 [&](const Tensor& t) {
                                   return t.scalar_type() == first->tensor.scalar_type() &&
                                          broadcasts_to(t, first->tensor);
                                 })
                           ->id);
    return true;
  };
}

/// args = {a, b} with a @ b defined
Choose factors(int64_t dims) {
  return [dims](Rng& rng, const Scope& scope, Statement& s) {
    const Var* a = scope.pick(rng, [&](const Tensor& t) { return t.dim() == dims && is_float(t); });
    if (!a) return false;
    const Var* b = scope.pick(rng, [&](const Tensor& t) {
      return t.dim() == 2 && t.scalar_type() == a->tensor.scalar_type() && t.size(0) == a->tensor.size(-1);
    });
    if (!b) return false;
    s.args = {a->id, b->id};
    return true;
  };
}

void add_functions(std::vector<Op>& table) {
  using Function = Tensor (*)(const Tensor&);
  const std::vector<std::pair<const char*, Function>> functions = {
      {"tanh", at::tanh},
      {"sigmoid", at::sigmoid},
      {"sin", at::sin},
      {"silu", at::silu},
      {"erf", at::erf},
      {"atan", at::atan},
      {"exp_clamped", [](const Tensor& t) { return at::exp(at::clamp(t, -3, 3)); }},
      {"log_above_one", [](const Tensor& t) { return at::log(at::add(at::square(t), 1)); }},
      {"rsqrt_above_one", [](const Tensor& t) { return at::rsqrt(at::add(at::square(t), 1)); }},
      {"softplus", [](const Tensor& t) { return at::softplus(t); }},
      {"gelu", [](const Tensor& t) { return at::gelu(t); }},
      {"leaky_relu", [](const Tensor& t) { return at::leaky_relu(t); }},
      {"pow", [](const Tensor& t) { return at::pow(t, 2); }},
      {"sum", [](const Tensor& t) { return at::sum(t); }},
      {"mean", [](const Tensor& t) { return at::mean(t); }},
  };
  for (const auto& [name, function] : functions)
    table.push_back(
        smooth(name, one, [function = function](const Tensors& t, const Sizes&) { return function(t[0]); }));
}

void add_along_dim(std::vector<Op>& table) {
  using Function = Tensor (*)(const Tensor&, int64_t);
  const std::vector<std::pair<const char*, Function>> functions = {
      {"sum", [](const Tensor& t, int64_t d) { return at::sum(t, d); }},
      {"sum_keepdim", [](const Tensor& t, int64_t d) { return at::sum(t, d, true); }},
      {"mean", [](const Tensor& t, int64_t d) { return at::mean(t, d); }},
      {"var",
       [](const Tensor& t, int64_t d) {
         TORCH_CHECK(t.numel() > 0);  // eager warns otherwise
         return at::var(t, d, /*unbiased=*/false);
       }},
      {"logsumexp", [](const Tensor& t, int64_t d) { return at::logsumexp(t, d); }},
      {"softmax", [](const Tensor& t, int64_t d) { return at::softmax(t, d); }},
      {"log_softmax", [](const Tensor& t, int64_t d) { return at::log_softmax(t, d); }},
      {"cumsum", [](const Tensor& t, int64_t d) { return at::cumsum(t, d); }},
      {"prod", [](const Tensor& t, int64_t d) { return at::prod(at::tanh(t), d); }},
      {"norm", [](const Tensor& t, int64_t d) { return at::linalg_vector_norm(t, 2, d); }},
      {"layer_norm", [](const Tensor& t, int64_t) { return at::layer_norm(t, {t.size(-1)}); }},
  };
  for (const auto& [name, function] : functions)
    table.push_back(smooth(name, one_with_dim, [function = function](const Tensors& t, const Sizes& i) {
      return function(t[0], i[0]);
    }));
}

void add_combinations(std::vector<Op>& table) {
  for (int twice = 0; twice < 2; ++twice)
    table.push_back(
        smooth("mul", several(2), [](const Tensors& t, const Sizes&) { return at::mul(t[0], t[1]); }));
  table.push_back(smooth("div_above_one", several(2), [](const Tensors& t, const Sizes&) {
    return at::div(t[0], at::add(at::square(t[1]), 1));
  }));
  table.push_back(
      smooth("atan2", several(2), [](const Tensors& t, const Sizes&) { return at::atan2(t[0], t[1]); }));
  // The result of the kernel has a larger storage, with uninitialised memory; hence the clone.
  table.push_back(smooth("mse_loss", several(2), [](const Tensors& t, const Sizes&) {
    return at::mse_loss(t[0], t[1].expand_as(t[0])).clone();
  }));
  table.push_back(smooth("addcmul", several(3),
                         [](const Tensors& t, const Sizes&) { return at::addcmul(t[0], t[1], t[2], 0.5); }));
  table.push_back(
      smooth("lerp", several(3), [](const Tensors& t, const Sizes&) { return at::lerp(t[0], t[1], t[2]); }));
  table.push_back(smooth("where", several(3), [](const Tensors& t, const Sizes&) {
    return at::where(at::gt(t[0], 0), t[1], t[2]);
  }));
  for (const int64_t dims : {1, 2, 2, 3})
    table.push_back(smooth("matmul", factors(dims),
                           [](const Tensors& t, const Sizes&) { return at::matmul(t[0], t[1]); }));
  table.push_back(smooth("linear", factors(2), [](const Tensors& t, const Sizes&) {
    return at::linear(t[0], t[1].t(), at::sum(t[1], 0));
  }));
}

}  // namespace

void add_smooth_ops(std::vector<Op>& table) {
  add_functions(table);
  add_along_dim(table);
  add_combinations(table);
}

}  // namespace antegrad::fuzz
