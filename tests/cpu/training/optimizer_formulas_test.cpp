// The optimizers of <antegrad/optimizers.h> against the formulas of their papers and of torch.optim, written
// out here in double, one number after the other.
#include <antegrad/optimizers.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "support/optimizer_twins.h"
#include "support/seeds.h"

namespace antegrad::test {
namespace {

using at::Tensor;
using Vector = std::vector<double>;
namespace own = antegrad;

constexpr int64_t kRows = 5, kColumns = 3;

Vector numbers_in(const Tensor& tensor) {
  const auto flat = tensor.detach().to(at::kDouble).contiguous().view(-1);
  return {flat.const_data_ptr<double>(), flat.const_data_ptr<double>() + flat.numel()};
}

double length(const Vector& v) {
  double sum = 0;
  for (auto x : v) sum += x * x;
  return std::sqrt(sum);
}

/// One step: changes the parameter. What it remembers are its captures.
using Reference = std::function<void(Vector& parameter, const Vector& gradient)>;

Reference lion(double lr, double beta1, double beta2, double decay) {
  return [=, m = Vector(15)](Vector& p, const Vector& g) mutable {
    for (size_t i = 0; i < p.size(); ++i) {
      const auto mixed = beta1 * m[i] + (1 - beta1) * g[i];
      p[i] = p[i] - lr * ((mixed > 0 ? 1 : mixed < 0 ? -1 : 0) + decay * p[i]);
      m[i] = beta2 * m[i] + (1 - beta2) * g[i];
    }
  };
}

Reference nadam(double lr, double beta1, double beta2, double eps, double decay, double psi, bool decoupled) {
  return [=, m = Vector(15), v = Vector(15), t = 0, product = 1.0](Vector& p, Vector g) mutable {
    ++t;
    const auto mu = beta1 * (1 - 0.5 * std::pow(0.96, t * psi));
    const auto next = beta1 * (1 - 0.5 * std::pow(0.96, (t + 1) * psi));
    product *= mu;
    for (size_t i = 0; i < p.size(); ++i) {
      if (decoupled)
        p[i] *= 1 - lr * decay;
      else
        g[i] += decay * p[i];
      m[i] = beta1 * m[i] + (1 - beta1) * g[i];
      v[i] = beta2 * v[i] + (1 - beta2) * g[i] * g[i];
      const auto mean = next * m[i] / (1 - product * next) + (1 - mu) * g[i] / (1 - product);
      p[i] -= lr * mean / (std::sqrt(v[i] / (1 - std::pow(beta2, t))) + eps);
    }
  };
}

Reference lamb(double lr, double beta1, double beta2, double eps, double decay) {
  return [=, m = Vector(15), v = Vector(15), t = 0](Vector& p, const Vector& g) mutable {
    ++t;
    Vector u(p.size());
    for (size_t i = 0; i < p.size(); ++i) {
      m[i] = beta1 * m[i] + (1 - beta1) * g[i];
      v[i] = beta2 * v[i] + (1 - beta2) * g[i] * g[i];
      const auto mean = m[i] / (1 - std::pow(beta1, t)), square = v[i] / (1 - std::pow(beta2, t));
      u[i] = mean / (std::sqrt(square) + eps) + decay * p[i];
    }
    const auto size = length(p), step = length(u);
    const auto ratio = size > 0 && step > 0 ? size / step : 1;
    for (size_t i = 0; i < p.size(); ++i) p[i] -= lr * ratio * u[i];
  };
}

/// The larger of the root mean square and a number.
double size_of(const Vector& v, double least) {
  return std::max(least, length(v) / std::sqrt(static_cast<double>(v.size())));
}

Reference adafactor(double lr, double beta2_decay, double eps1, double eps2, double d, double decay,
                    bool factored) {
  return [=, r = Vector(kRows), c = Vector(kColumns), v = Vector(15), t = 0](Vector& p,
                                                                             const Vector& g) mutable {
    ++t;
    const auto weight = std::pow(t, beta2_decay);
    const auto alpha = size_of(p, eps2) * std::min(lr, 1 / std::sqrt(t));
    for (auto& x : p) x *= 1 - lr * decay;
    Vector squares(p.size()), u(p.size());
    for (size_t i = 0; i < p.size(); ++i) squares[i] = g[i] * g[i];
    const auto average = [&](double& old, double now) { old += weight * (now - old); };
    if (factored) {
      for (size_t i = 0; i < kRows; ++i) {
        double sum = 0;
        for (size_t j = 0; j < kColumns; ++j) sum += squares[i * kColumns + j];
        average(r[i], sum / kColumns);
      }
      for (size_t j = 0; j < kColumns; ++j) {
        double sum = 0;
        for (size_t i = 0; i < kRows; ++i) sum += squares[i * kColumns + j];
        average(c[j], sum / kRows);
      }
      double mean = 0;
      for (auto x : r) mean += x / kRows;
      for (size_t i = 0; i < p.size(); ++i)
        squares[i] = r[i / kColumns] * c[i % kColumns] / std::max(mean, eps1);
    } else {
      for (size_t i = 0; i < p.size(); ++i) average(v[i], squares[i]);
      squares = v;
    }
    for (size_t i = 0; i < p.size(); ++i) u[i] = g[i] / std::sqrt(std::max(squares[i], eps1 * eps1));
    const auto excess = std::max(1.0, length(u) / (std::sqrt(static_cast<double>(u.size())) * d));
    for (size_t i = 0; i < p.size(); ++i) p[i] -= alpha / excess * u[i];
  };
}

/// A matrix of n rows.
struct Matrix {
  size_t n, m;
  Vector x;
  double at(size_t i, size_t j) const { return x[i * m + j]; }
};
Matrix product(const Matrix& a, const Matrix& b) {
  Matrix out{a.n, b.m, Vector(a.n * b.m)};
  for (size_t i = 0; i < a.n; ++i)
    for (size_t j = 0; j < b.m; ++j)
      for (size_t k = 0; k < a.m; ++k) out.x[i * b.m + j] += a.at(i, k) * b.at(k, j);
  return out;
}
Matrix transposed(const Matrix& a) {
  Matrix out{a.m, a.n, Vector(a.x.size())};
  for (size_t i = 0; i < a.n; ++i)
    for (size_t j = 0; j < a.m; ++j) out.x[j * a.n + i] = a.at(i, j);
  return out;
}

Reference muon(double lr, double decay, double momentum, bool nesterov, int steps, size_t rows, bool match) {
  return [=, b = Vector(15)](Vector& p, const Vector& g) mutable {
    const auto columns = p.size() / rows;
    Vector u(p.size());
    for (size_t i = 0; i < p.size(); ++i) {
      b[i] = momentum * b[i] + (1 - momentum) * g[i];
      u[i] = nesterov ? (1 - momentum) * g[i] + momentum * b[i] : b[i];
    }
    Matrix x{rows, columns, u};
    const auto norm = length(u);
    for (auto& e : x.x) e /= norm;
    // a X + (b A + c A²) X is the same for X and for its transposed.
    for (int k = 0; k < steps; ++k) {
      const auto once = product(product(x, transposed(x)), x);
      const auto twice = product(product(x, transposed(x)), once);
      for (size_t i = 0; i < x.x.size(); ++i)
        x.x[i] = 3.4445 * x.x[i] - 4.7750 * once.x[i] + 2.0315 * twice.x[i];
    }
    const auto n = static_cast<double>(rows), m = static_cast<double>(columns);
    const auto rate = match ? 0.2 * std::sqrt(std::max(n, m)) : std::sqrt(std::max(1.0, n / m));
    for (size_t i = 0; i < p.size(); ++i) p[i] = p[i] * (1 - lr * decay) - lr * rate * x.x[i];
  };
}

struct Case {
  const char* name;
  MakeOptimizer make;
  Reference reference;
  std::vector<int64_t> sizes{kRows, kColumns};
};

std::vector<Case> every_case() {
  const auto factors = own::AdafactorOptions(0.05).eps1(1e-4).eps2(1e-2).d(1.5).weight_decay(0.1);
  const auto matrices = own::MuonOptions(0.02).ns_dtype(at::kDouble);
  return {
      {"Lion", maker<own::Lion>(own::LionOptions(0.01).betas({0.8, 0.95})), lion(0.01, 0.8, 0.95, 0)},
      {"Lion, decay", maker<own::Lion>(own::LionOptions(0.01).weight_decay(0.3)), lion(0.01, 0.9, 0.99, 0.3)},
      {"NAdam", maker<own::NAdam>(own::NAdamOptions(0.02)), nadam(0.02, 0.9, 0.999, 1e-8, 0, 4e-3, false)},
      {"NAdam, decay", maker<own::NAdam>(own::NAdamOptions(0.02).weight_decay(0.2).momentum_decay(0.1)),
       nadam(0.02, 0.9, 0.999, 1e-8, 0.2, 0.1, false)},
      {"NAdam, decoupled",
       maker<own::NAdam>(own::NAdamOptions(0.02).weight_decay(0.2).decoupled_weight_decay(true)),
       nadam(0.02, 0.9, 0.999, 1e-8, 0.2, 4e-3, true)},
      {"Lamb", maker<own::Lamb>(own::LambOptions(0.02)), lamb(0.02, 0.9, 0.999, 1e-6, 0.01)},
      {"Lamb, no decay", maker<own::Lamb>(own::LambOptions(0.02).weight_decay(0).betas({0.5, 0.7})),
       lamb(0.02, 0.5, 0.7, 1e-6, 0)},
      {"Adafactor", maker<own::Adafactor>(factors), adafactor(0.05, -0.8, 1e-4, 1e-2, 1.5, 0.1, true)},
      {"Adafactor of a vector",
       maker<own::Adafactor>(factors),
       adafactor(0.05, -0.8, 1e-4, 1e-2, 1.5, 0.1, false),
       {15}},
      {"Muon", maker<own::Muon>(matrices), muon(0.02, 0.1, 0.95, true, 5, 5, false)},
      {"Muon, wide",
       maker<own::Muon>(own::MuonOptions(matrices).nesterov(false).ns_steps(3).weight_decay(0)),
       muon(0.02, 0, 0.95, false, 3, 3, false),
       {3, 5}},
      {"Muon, rate of AdamW",
       maker<own::Muon>(own::MuonOptions(matrices).adjust_lr(own::MuonRate::MatchRmsAdamW)),
       muon(0.02, 0.1, 0.95, true, 5, 5, true)},
  };
}

void expect_near(const Vector& expected, const Tensor& tensor, double tolerance) {
  const auto found = numbers_in(tensor);
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i)
    ASSERT_NEAR(found[i], expected[i], tolerance * (1 + std::abs(expected[i]))) << i;
}

TEST(OptimizerFormulas, EqualThePublishedOnes) {
  for (auto& [name, make, reference, sizes] : every_case()) {
    SCOPED_TRACE(name);
    test::manual_seed(1);
    Twins twins({{torch::randn(sizes, at::kDouble)}}, make);
    auto expected = numbers_in(twins.eager_parameters[0]);
    for (int i = 0; i < 8; ++i) {
      SCOPED_TRACE(c10::str("step ", i));
      const auto gradient = torch::randn(sizes, at::kDouble);
      twins.set_gradients({gradient});
      twins.step();
      reference(expected, numbers_in(gradient));
      expect_near(expected, twins.eager_parameters[0], 1e-9);
      expect_near(expected, twins.compiled_parameters[0], 1e-9);
      ASSERT_EQ(twins.difference(), "");
    }
    EXPECT_EQ(twins.compiled_step().report().eager_calls, 0u);
  }
}

TEST(OptimizerFormulas, AreComputedInF32AndHalfTypes) {
  for (const auto dtype : {at::kFloat, at::kBFloat16, at::kHalf})
    for (auto& [name, make, reference, sizes] : every_case()) {
      if (std::string(name).find("Lion") == 0) continue;  // a sign of almost nothing may be the other one
      SCOPED_TRACE(c10::str(name, " of ", dtype));
      test::manual_seed(2);
      Twins twins({{torch::randn(sizes, dtype)}}, make);
      auto expected = numbers_in(twins.compiled_parameters[0]);
      const auto gradient = torch::randn(sizes, dtype);
      twins.set_gradients({gradient});
      twins.step();
      reference(expected, numbers_in(gradient));
      expect_near(expected, twins.compiled_parameters[0], 4 * rounding_of(dtype));
    }
}

TEST(OptimizerFormulas, MuonIteratesInBFloat16UnlessToldOtherwise) {
  test::manual_seed(3);
  Twins twins({{torch::randn({5, 3})}}, maker<own::Muon>(own::MuonOptions(0.1).weight_decay(0)));
  auto expected = numbers_in(twins.compiled_parameters[0]);
  const auto gradient = torch::randn({5, 3});
  twins.set_gradients({gradient});
  twins.step();
  muon(0.1, 0, 0.95, true, 5, 5, false)(expected, numbers_in(gradient));
  expect_near(expected, twins.compiled_parameters[0], 0.01);
  expect_near(expected, twins.eager_parameters[0], 0.01);
}

TEST(OptimizerFormulas, RefuseWhatTorchRefuses) {
  const auto p = torch::randn({3}).requires_grad_();
  EXPECT_THROW(own::Muon({p}), c10::Error);
  EXPECT_THROW(own::Muon(std::vector<Tensor>(), own::MuonOptions(-1)), c10::Error);
  EXPECT_THROW(own::Lion({p}, own::LionOptions().betas({1, 0.5})), c10::Error);
  EXPECT_THROW(own::NAdam({p}, own::NAdamOptions().eps(-1)), c10::Error);
  EXPECT_THROW(own::Lamb({p}, own::LambOptions().weight_decay(-1)), c10::Error);
  EXPECT_THROW(own::Adafactor({p}, own::AdafactorOptions().d(0.5)), c10::Error);
  struct Derived : own::Lion {
    using Lion::Lion;
  } derived({p});
  p.mutable_grad() = torch::ones({3});
  EXPECT_THROW(derived.step(), c10::Error);
}

}  // namespace
}  // namespace antegrad::test
