// Random programs with numbers as arguments, which they compute with and branch on, against eager LibTorch at
// many values. ANTEGRAD_FUZZ_SEED and ANTEGRAD_FUZZ_COUNT (of programs) search other seeds, and longer.
#include <antegrad/antegrad.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "fuzz/driver.h"
#include "fuzz/rng.h"
#include "support/closeness.h"

namespace antegrad::fuzz {
namespace {

using at::Tensor;

constexpr uint64_t kPrograms = 200, kCompiledPrograms = 12;
constexpr int kCalls = 24;

/// One step. Those on the host append a number to the list of numbers, the others a tensor to that of
/// tensors.
struct Step {
  int op = 0;
  bool on_host = false;
  size_t a = 0, b = 0;  ///< operands: tensor and number, or two numbers
  bool branch = false;  ///< op only where a number is less than `limit`, else `other`
  size_t decides = 0;
  double limit = 0;
  int other = 0;
};

struct Arguments {
  double t = 0;
  double u = 0;
  int64_t n = 0;
};

struct NumberProgram {
  std::vector<Step> steps;
  at::ScalarType dtype = at::kFloat;
};

constexpr int kHostOps = 12, kTensorOps = 22;

double host_op(int op, double a, double b) {
  switch (op) {
    case 0:
      return a + b;
    case 1:
      return a * b;
    case 2:
      return -a;
    case 3:
      return 1 - a;
    case 4:
      return 1 / (std::abs(a) + 0.5);
    case 5:
      return std::exp(-std::abs(a));
    case 6:
      return std::floor(a);
    case 7:
      return std::sqrt(std::abs(a));
    case 8:
      return std::min(a, b);
    case 9:
      return a < b ? 0.25 : a;
    case 10:
      return 0.75;
    default:
      return std::fmod(a, 0.5);
  }
}

Tensor tensor_op(int op, const Tensor& x, double h, int64_t n) {
  switch (op) {
    case 0:
      return x * h;
    case 1:
      return x + h;
    case 2:
      return h - x;
    case 3:
      return x / (std::abs(h) + 0.5);
    case 4:
      return (x.sin() + 1.5).pow(std::fmod(h, 3));
    case 5:
      return x.clamp_min(h);
    case 6:
      return at::leaky_relu(x, std::fmod(h, 1));
    case 7:
      return at::where(x > h, x.sin(), x);
    case 8:
      return at::add(x, x.cos(), h);
    case 9:
      return x.tanh() * h;
    case 10:
      return x + at::full_like(x, h);
    case 11:
      return at::lerp(x, x.sigmoid(), std::fmod(h, 1));
    case 12:
      return x.mean() * h + x;
    case 13:
      return x.clone().mul_(h).add_(n);
    case 14:
      return x * n;
    case 15:
      return x + static_cast<double>(n) / (std::abs(h) + 1);
    case 16:
      return x.masked_fill(x < h, h);
    case 17:
      return at::softplus(x, std::abs(h) + 0.5);
    case 18:
      return x.cumsum(0) * (1 - h);
    case 19:
      return x.narrow(0, n % 2, 2).sum() * h + x;
    case 20:
      return at::elu(x, h);
    default:
      return x.sin();
  }
}

Tensor run(const NumberProgram& program, const Tensor& x, const Arguments& given) {
  std::vector<Tensor> tensors{x};
  std::vector<double> numbers{given.t, given.u, static_cast<double>(given.n)};
  for (const auto& step : program.steps) {
    const auto op =
        step.branch && !(numbers[step.decides % numbers.size()] < step.limit) ? step.other : step.op;
    if (step.on_host)
      numbers.push_back(host_op(op, numbers[step.a % numbers.size()], numbers[step.b % numbers.size()]));
    else
      tensors.push_back(
          tensor_op(op, tensors[step.a % tensors.size()], numbers[step.b % numbers.size()], given.n).tanh() *
          2);
  }
  auto sum = tensors.back();
  if (tensors.size() > 2) sum = sum + tensors[tensors.size() - 2];
  return sum;
}

NumberProgram generate(uint64_t seed) {
  Rng rng(seed);
  NumberProgram program;
  program.dtype = rng.percent(70) ? at::kFloat : at::kDouble;
  const auto count = rng.range(2, 9);
  for (int64_t i = 0; i < count; ++i) {
    Step step;
    step.on_host = rng.percent(40);
    const auto ops = step.on_host ? kHostOps : kTensorOps;
    step.op = static_cast<int>(rng.below(ops));
    step.other = static_cast<int>(rng.below(ops));
    step.a = static_cast<size_t>(rng.below(100));
    step.b = static_cast<size_t>(rng.below(100));
    step.branch = rng.percent(20);
    step.decides = static_cast<size_t>(rng.below(100));
    step.limit = static_cast<double>(rng.range(-4, 8)) * 0.25;
    program.steps.push_back(step);
  }
  return program;
}

std::string to_string(const NumberProgram& program) {
  auto text = c10::str(program.dtype, "\n");
  for (const auto& step : program.steps) {
    text += c10::str(step.on_host ? "host " : "tensor ", step.op, "(", step.a, ", ", step.b, ")");
    if (step.branch) text += c10::str(" if number ", step.decides, " < ", step.limit, " else ", step.other);
    text += "\n";
  }
  return text;
}

/// Values as programs see them: some constant for a while, some new in each call, some that come again.
Arguments arguments_of(Rng& rng, int call) {
  static const std::vector<double> kUsual{0, 1, 0.5, -1, 2, 0.1};
  Arguments out;
  static const std::vector<double> kHard{-0.0, std::numeric_limits<double>::infinity(), 1e-310,
                                         -std::numeric_limits<double>::infinity()};
  if (rng.percent(4)) return {rng.pick(kHard), 0.3, 2};
  out.t = rng.percent(70) ? static_cast<double>(rng.below(4000)) / 1000 - 1 : rng.pick(kUsual);
  out.u = call < 9 ? 0.3 : rng.percent(50) ? rng.pick(kUsual) : static_cast<double>(rng.below(100)) / 17;
  out.n = call < 14 ? 2 : rng.below(4);
  return out;
}

struct Checked {
  std::optional<std::string> difference;  ///< from eager, if there is any
  Report report;
};

/// Compares a function of a tensor and Arguments with its compiled form.
template <class Eager, class Compiled>
std::optional<std::string> compare(const NumberProgram& program, uint64_t seed, const Eager& eager,
                                   const Compiled& compiled) {
  Rng rng(seed + 7);
  for (int call = 0; call < kCalls; ++call) {
    const auto given = arguments_of(rng, call);
    const auto x = at::linspace(-1.25, 1.5, call % 5 == 4 ? 6 : 5, program.dtype).requires_grad_();
    const auto where = c10::str("call ", call, " with ", given.t, ", ", given.u, ", ", given.n, ": ");
    const auto expected = eager(x, given);
    Tensor actual;
    try {
      actual = compiled(x, given);
    } catch (const std::exception& error) {
      return where + error.what();
    }
    const auto differs = [](const Tensor& a, const Tensor& b) {
      return a.defined() != b.defined() ||
             (a.defined() && (a.scalar_type() != b.scalar_type() || !test::same_values(a, b)));
    };
    if (differs(expected.detach(), actual.detach())) return where + c10::str(expected, "\n", actual);
    if (expected.requires_grad() != actual.requires_grad()) return where + "requires_grad differs";
    const auto tangent = at::linspace(0.5, 1, expected.numel(), program.dtype).view_as(expected);
    const auto a = torch::autograd::grad({expected}, {x}, {tangent}, std::nullopt, false, true)[0];
    const auto b = torch::autograd::grad({actual}, {x}, {tangent}, std::nullopt, false, true)[0];
    if (differs(a, b)) return where + c10::str("gradients ", a, "\n", b);
  }
  return std::nullopt;
}

/// With plain numbers, which the program may branch on.
Checked check(const NumberProgram& program, uint64_t seed) {
  Options options;
  options.max_versions = 4;
  const auto compiled = compile(
      [&](const Tensor& x, double t, double u, int64_t n) {
        return run(program, x, {t, u, n});
      },
      options);
  auto difference = compare(
      program, seed, [&](const Tensor& x, const Arguments& given) { return run(program, x, given); },
      [&](const Tensor& x, const Arguments& given) { return compiled(x, given.t, given.u, given.n); });
  return {std::move(difference), compiled.report()};
}

Number declared_host_op(int op, const Number& a, const Number& b) {
  switch (op) {
    case 0:
      return a + b;
    case 1:
      return a * b;
    case 2:
      return -a;
    case 3:
      return 1 - a;
    case 4:
      return 1 / (abs(a) + 0.5);
    case 5:
      return exp(-abs(a));
    case 6:
      return floor(a);
    case 7:
      return sqrt(abs(a));
    case 8:
      return min(a, b);
    case 9:
      return max(tanh(a), cos(b));
    case 10:
      return 0.75;
    default:
      return pow(abs(a) + 0.1, b);
  }
}

Tensor declared_tensor_op(int op, const Tensor& x, const Number& h, const Number& n) {
  switch (op) {
    case 0:
      return x * h;
    case 1:
      return x + h;
    case 2:
      return h - x;
    case 3:
      return x / (abs(h) + 0.5);
    case 4:
      return (x.sin() + 1.5).pow(tanh(h) * 3);
    case 5:
      return x.clamp_min(h);
    case 6:
      return at::maximum(x, x * h);
    case 7:
      return at::where(x > h, x.sin(), x);
    case 8:
      return x + h * x.cos();
    case 9:
      return x.sin().mul_(h);
    case 10:
      return x.masked_fill(x < h, h);
    case 11:
      return at::lerp(x, x.sigmoid(), tanh(h));
    case 12:
      return x.mean() * h + x;
    case 13:
      return x.clone().mul_(h).add_(n);
    case 14:
      return x * n;
    case 15:
      return x + n / (abs(h) + 1);
    case 16:
      return x + at::ones({5}, at::kLong).mul(h).sum();
    case 17:
      return x.sum() * at::Tensor(h) * n;
    case 18:
      return x.cumsum(0) * (1 - h);
    default:
      return x.sin();
  }
}

Tensor run_declared(const NumberProgram& program, const Tensor& x, const Number& t, const Number& u,
                    const Number& n) {
  std::vector<Tensor> tensors{x};
  std::vector<Number> numbers{t, u, n};
  for (const auto& step : program.steps) {
    const auto& h = numbers[step.b % numbers.size()];
    if (step.on_host)
      numbers.push_back(declared_host_op(step.op, numbers[step.a % numbers.size()], h));
    else
      tensors.push_back(declared_tensor_op(step.op, tensors[step.a % tensors.size()], h, n).tanh() * 2);
  }
  auto sum = tensors.back();
  if (tensors.size() > 2) sum = sum + tensors[tensors.size() - 2];
  return sum;
}

/// With numbers that are declared as such.
Checked check_declared(const NumberProgram& program, uint64_t seed) {
  const auto function = [&](const Tensor& x, const Number& t, const Number& u, const Number& n) {
    return run_declared(program, x, t, u, n);
  };
  const auto compiled = compile(function);
  const auto call = [](const auto& f) {
    return [&f](const Tensor& x, const Arguments& given) {
      return f(x, Number(given.t), Number(given.u), Number(given.n));
    };
  };
  auto difference = compare(program, seed, call(function), call(compiled));
  const auto report = compiled.report();
  if (!difference && (report.captures > 2 || report.sizes > 1))
    difference = c10::str(report.captures, " versions and ", report.sizes, " further sizes");
  return {std::move(difference), report};
}

using Check = Checked (*)(const NumberProgram&, uint64_t);

/// Removes steps as long as the difference stays.
NumberProgram shrink(NumberProgram program, uint64_t seed, Check check) {
  for (size_t i = 0; i < program.steps.size();) {
    auto smaller = program;
    smaller.steps.erase(smaller.steps.begin() + static_cast<int64_t>(i));
    if (check(smaller, seed).difference)
      program = std::move(smaller);
    else
      ++i;
  }
  return program;
}

/// Returns how many values were accepted by their forward pass.
uint64_t fuzz(uint64_t first, uint64_t count, Check check, const char* name) {
  const auto most_failures = from_environment("ANTEGRAD_FUZZ_FAILURES", 3);
  uint64_t failures = 0, forward_checks = 0;
  for (uint64_t seed = first; seed < first + count && failures < most_failures; ++seed) {
    const auto program = generate(seed);
    const auto [difference, report] = check(program, seed);
    forward_checks += report.forward_checks;
    if (!difference) continue;
    ++failures;
    const auto small = shrink(program, seed, check);
    ADD_FAILURE() << "seed " << seed << ", " << *difference
                  << "\nshrunk: " << check(small, seed).difference.value_or("no difference any more") << "\n"
                  << to_string(small);
  }
  say_checked(name, count, failures);
  return forward_checks;
}

uint64_t usual_count() { return test::runs_libtorch_kernels() ? kPrograms : kCompiledPrograms; }

TEST(NumberFuzz, ManyValuesOfManyPrograms) {
  EXPECT_GE(fuzz(0, usual_count(), check, "number"), usual_count() / 2);
}

TEST(NumberFuzz, ManyValuesOfDeclaredNumbers) { fuzz(0, usual_count(), check_declared, "declared_number"); }

TEST(FreshNumberFuzz, Programs) {
  const auto seeds = fresh_seeds();
  if (!seeds) GTEST_SKIP() << "ANTEGRAD_FUZZ_COUNT=n searches among n";
  RecordProperty("first_seed", std::to_string(seeds->first));
  fuzz(seeds->first, seeds->count, check, "number");
  fuzz(seeds->first, seeds->count, check_declared, "declared_number");
}

}  // namespace
}  // namespace antegrad::fuzz
