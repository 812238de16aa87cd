// Random programs of square matrices with gradients of some outputs with respect to some inputs: each such
// choice has a backward pass of its own, derived from the one for all of them. Matrix products are extern
// calls that read, through views, what kernels have left in planned memory.
#include <ATen/Parallel.h>
#include <antegrad/antegrad.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cstdlib>
#include <random>

#include "fuzz/rng.h"
#include "support/seeds.h"

namespace antegrad::fuzz {
namespace {

using at::Tensor;
using Tensors = std::vector<Tensor>;

/// Programs are tiny: worker threads would only wait for each other.
const int kThreads = (at::set_num_threads(1), at::get_num_threads());

constexpr int64_t kSize = 6;
constexpr int kInputs = 3;

/// An op of one or two matrices, as text and as code.
struct Op {
  const char* text;
  Tensor (*apply)(const Tensor& a, const Tensor& b);
};

#define ANTEGRAD_OP(expression)                                                                 \
  Op {                                                                                          \
#expression, [](const Tensor& a, const Tensor& b) -> Tensor { return (void)b, expression; } \
  }

const std::vector<Op>& ops() {
  static const std::vector<Op> all = {
      ANTEGRAD_OP(a.sin()),
      ANTEGRAD_OP(a.cos()),
      ANTEGRAD_OP(a.tanh()),
      ANTEGRAD_OP(a.t()),
      ANTEGRAD_OP(a.t()),
      ANTEGRAD_OP(a.flip(0)),
      ANTEGRAD_OP(a.softmax(1)),
      ANTEGRAD_OP(a.sum(0, true).expand_as(a)),
      ANTEGRAD_OP(a + b),
      ANTEGRAD_OP(a * b),
      ANTEGRAD_OP(a - b.t()),
      ANTEGRAD_OP(at::mm(a / 6, b)),
      ANTEGRAD_OP(at::mm(a.sin().t(), b)),
      ANTEGRAD_OP(at::mm(a.sin().t(), b.cos().t())),
      ANTEGRAD_OP(at::mm(a.tanh().t(), b.t())),
      ANTEGRAD_OP(at::addmm(a, b.sin(), a.t())),
      ANTEGRAD_OP(at::cat({a.slice(0, 0, 2), b.slice(0, 2)}, 0)),
      ANTEGRAD_OP(at::constant_pad_nd(a.slice(1, 1, 5), {1, 1}) + b),
      ANTEGRAD_OP(a.select(0, 2).unsqueeze(0) * b),
      ANTEGRAD_OP(a.reshape({36}).slice(0, 0, 36).view({6, 6})),
  };
  return all;
}
#undef ANTEGRAD_OP

/// A function of two results that have nothing in common, except that autograd fills in zeros for the one
/// without a gradient.
// clang-format off
#define ANTEGRAD_CODE(...) const char* const kPairText = #__VA_ARGS__; __VA_ARGS__
ANTEGRAD_CODE(struct Pair : torch::autograd::Function<Pair> {
  using List = torch::autograd::variable_list;
  using Context = torch::autograd::AutogradContext;
  static List forward(Context* context, const at::Tensor& a, const at::Tensor& b) {
    context->save_for_backward({a, b});
    return {a * a, b.sin()};
  }
  static List backward(Context* context, const List& gradients) {
    const auto saved = context->get_saved_variables();
    return {gradients[0] * saved[0] * 2, gradients[1] * saved[1].cos()};
  }
};)
// clang-format on
#undef ANTEGRAD_CODE

struct Statement {
  const Op* op = nullptr;
  size_t a = 0, b = 0;
};

struct SubsetProgram {
  std::vector<Statement> statements;  ///< statement i defines variable kInputs + i
  std::vector<size_t> outputs;
  bool paired = false;  ///< the first two outputs are results of Pair

  bool is_paired() const { return paired && outputs.size() > 1; }

  Tensors operator()(Tensors values) const {
    for (const auto& s : statements) values.push_back(s.op->apply(values[s.a], values[s.b]));
    Tensors results;
    for (auto o : outputs) results.push_back(values[o]);
    if (!is_paired()) return results;
    const auto pair = Pair::apply(results[0], results[1]);
    std::copy(pair.begin(), pair.end(), results.begin());
    return results;
  }

  /// Returns a function that compiles.
  std::string text() const {
    std::string lines = "std::vector<at::Tensor> f(const std::vector<at::Tensor>& x) {\n";
    for (size_t i = 0; i < kInputs; ++i) lines += c10::str("  const auto v", i, " = x[", i, "];\n");
    for (size_t i = 0; i < statements.size(); ++i) {
      const auto& s = statements[i];
      lines += c10::str("  const auto v", kInputs + i,
                        " = [](const at::Tensor& a, const at::Tensor& b) -> at::Tensor { return ", s.op->text,
                        "; }(v", s.a, ", v", s.b, ");\n");
    }
    if (is_paired())
      lines += c10::str("  const auto pair = Pair::apply(v", outputs[0], ", v", outputs[1], ");\n");
    lines += "  return {";
    for (size_t i = 0; i < outputs.size(); ++i)
      lines += is_paired() && i < 2 ? c10::str("pair[", i, "], ") : c10::str("v", outputs[i], ", ");
    return (is_paired() ? std::string(kPairText) + "\n" : "") + lines + "};\n}\n";
  }
};

SubsetProgram program_of(uint64_t seed) {
  Rng rng(seed);
  SubsetProgram program;
  const auto count = rng.range(4, 12);
  for (int64_t i = 0; i < count; ++i) {
    const auto known = kInputs + i;
    // Prefers recent variables, so that programs are deep.
    const auto pick = [&] { return static_cast<size_t>(std::max(rng.below(known), rng.below(known))); };
    program.statements.push_back({&rng.pick(ops()), pick(), pick()});
  }
  for (auto left = rng.range(2, 4); left > 0; --left)
    program.outputs.push_back(static_cast<size_t>(kInputs + rng.below(count)));
  program.paired = rng.percent(30);
  return program;
}

Tensors inputs_of(uint64_t seed) {
  test::manual_seed(seed);
  Tensors inputs;
  for (int i = 0; i < kInputs; ++i)
    inputs.push_back(torch::randn({kSize, kSize}, at::kDouble).requires_grad_());
  return inputs;
}

Options options_of(uint64_t seed) {
  Options options;
  options.disabled_passes = {"small_matmul"};
  if (seed % 4 == 1) options.policy = SaveAll{};
  if (seed % 4 == 2) options.policy = RecomputeAll{};
  options.debug_compare = seed % 5 == 0;
  if (seed % 7 == 0) options.backend = Backend::NoFuse;
  return options;
}

/// Returns a random non-empty subset.
std::vector<size_t> some(Rng& rng, size_t count) {
  std::vector<size_t> chosen;
  for (size_t i = 0; i < count; ++i)
    if (rng.percent(45)) chosen.push_back(i);
  if (chosen.empty()) chosen.push_back(static_cast<size_t>(rng.below(static_cast<int64_t>(count))));
  return chosen;
}

std::string difference(const Tensor& eager, const Tensor& compiled) {
  if (eager.defined() != compiled.defined())
    return eager.defined() ? "is undefined only compiled" : "is defined only compiled";
  if (!eager.defined()) return "";
  const auto largest = std::max(eager.abs().max().item<double>(), 1.0);
  const auto off = (eager - compiled).abs().max().item<double>();
  return off <= 1e-10 * largest ? "" : c10::str("is off by ", off, " of ", largest);
}

/// Returns "" when there is none.
std::string first_difference(const SubsetProgram& program, uint64_t seed) {
  const auto inputs = inputs_of(seed);
  const auto expected = program(inputs);
  try {
    const auto found = compile([&](const Tensors& x) { return program(x); }, options_of(seed))(inputs);
    for (uint64_t k = 0; k < 5; ++k) {
      Rng rng(seed * 8 + k);
      Tensors roots[2], tangents, targets;
      for (auto i : some(rng, expected.size())) {
        if (!expected[i].requires_grad()) continue;
        roots[0].push_back(expected[i]);
        roots[1].push_back(found[i]);
        tangents.push_back(torch::randn({kSize, kSize}, at::kDouble));
      }
      for (auto i : some(rng, inputs.size())) targets.push_back(inputs[i]);
      const auto eager = torch::autograd::grad(roots[0], targets, tangents, true, false, true);
      const auto own = torch::autograd::grad(roots[1], targets, tangents, true, false, true);
      for (size_t i = 0; i < eager.size(); ++i)
        if (const auto how = difference(eager[i], own[i]); !how.empty())
          return c10::str("choice ", k, ", gradient ", i, " ", how);
    }
  } catch (const std::exception& error) {
    return c10::str("compiled threw: ", error.what());
  }
  return "";
}

/// Removes Pair and outputs, and replaces operands by inputs, while the program still fails.
SubsetProgram shrunk(SubsetProgram program, uint64_t seed) {
  auto plain = program;
  plain.paired = false;
  if (!first_difference(plain, seed).empty()) program = plain;
  for (bool smaller = true; smaller;) {
    smaller = false;
    for (size_t i = 0; i < program.outputs.size() && program.outputs.size() > 1; ++i) {
      auto candidate = program;
      candidate.outputs.erase(candidate.outputs.begin() + static_cast<int64_t>(i));
      if (first_difference(candidate, seed).empty()) continue;
      program = candidate;
      smaller = true;
    }
    for (auto& statement : program.statements)
      for (auto* operand : {&statement.a, &statement.b})
        for (size_t input = 0; input < kInputs; ++input) {
          const auto was = *operand;
          if (was < kInputs) break;
          *operand = input;
          if (first_difference(program, seed).empty())
            *operand = was;
          else
            smaller = true;
        }
  }
  return program;
}

void fuzz(uint64_t first, uint64_t count) {
  int failures = 0;
  for (uint64_t seed = first; seed < first + count && failures < 3; ++seed) {
    const auto program = program_of(seed);
    if (const auto how = first_difference(program, seed); !how.empty()) {
      ++failures;
      ADD_FAILURE() << "seed " << seed << ": " << how << "\n" << shrunk(program, seed).text();
    }
  }
}

TEST(SubsetFuzz, Seeds0To299) { fuzz(0, 300); }

/// ANTEGRAD_FUZZ_SEED and ANTEGRAD_FUZZ_COUNT repeat a failure or search longer.
TEST(SubsetFuzz, FreshSeeds) {
  const auto number = [](const char* name, uint64_t otherwise) {
    const char* text = std::getenv(name);
    return text ? std::strtoull(text, nullptr, 10) : otherwise;
  };
  const auto count = number("ANTEGRAD_FUZZ_COUNT", 0);
  if (count == 0) GTEST_SKIP() << "ANTEGRAD_FUZZ_COUNT=n searches among n";
  const uint64_t first = number("ANTEGRAD_FUZZ_SEED", std::random_device{}());
  RecordProperty("first_seed", std::to_string(first));
  fuzz(first, count);
}

}  // namespace
}  // namespace antegrad::fuzz
