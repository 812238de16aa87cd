// Graphs with symbolic sizes: running a pass and then substituting the symbols gives the same as substituting
// first. Random graphs are compared by what they compute, those of testdata node by node.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "graph/interpret.h"
#include "graph/pass_golden.h"
#include "graph/random_program.h"
#include "graph/type_rules.h"
#include "ir/substitute.h"
#include "passes/random/functional_rng.h"
#include "passes/simplify/undefined_tangents.h"

namespace antegrad::passes {
namespace {

using Values = std::vector<int64_t>;

/// Values whose product is 6, as interpret.h requires.
const std::vector<Values>& six_elements() {
  static const std::vector<Values> all = {{2, 3}, {3, 2}, {1, 6}, {6, 1}};
  return all;
}

class EveryPassOverSymbols : public ::testing::TestWithParam<const char*> {};

TEST_P(EveryPassOverSymbols, KeepsMeaningAtEverySize) {
  int changes = 0;
  for (uint32_t seed = 0; seed < 500; ++seed) {
    const auto original = random_symbolic_program(seed, 3 + static_cast<int>(seed % 30));
    ASSERT_NO_THROW(ir::verify(original)) << ir::print(original);
    auto graph = original;
    changes += find_pass(GetParam()).run(graph) ? 1 : 0;
    SCOPED_TRACE(fmt::format("seed {}\n{}{}", seed, ir::print(original), ir::print(graph)));
    ASSERT_NO_THROW(ir::verify(graph));
    ASSERT_EQ(graph.symbols, original.symbols);
    for (const auto& values : six_elements()) {
      const auto after = ir::substitute(graph, values), before = ir::substitute(original, values);
      ASSERT_NO_THROW(ir::verify(after));
      ASSERT_EQ(interpret(after), interpret(before));
      ASSERT_EQ(aliasing(after), aliasing(before));
    }
  }
  EXPECT_GT(changes, 50) << "the graphs give the pass too little to do";
}

INSTANTIATE_TEST_SUITE_P(Passes, EveryPassOverSymbols,
                         ::testing::Values("remove_noop", "constant_folding", "common_subexpressions",
                                           "dead_code"),
                         [](const auto& info) { return std::string(info.param); });

TEST(FunctionalRng, DrawsTheSameNumbersAtEverySize) {
  for (uint32_t seed = 0; seed < 500; ++seed) {
    const auto original = random_symbolic_program(seed, 40);
    auto graph = original;
    functional_rng(graph);
    for (const auto& values : six_elements()) {
      auto expected = ir::substitute(original, values);
      functional_rng(expected);
      ASSERT_EQ(ir::substitute(graph, values), expected) << ir::print(graph);
    }
  }
}

TEST(UndefinedTangents, ZerosAndStridesMayBeSymbolic) {
  auto graph = ir::parse(R"(graph @f backward [s0: 1.. ~ 3, s1: 1..] {
    in %0: f32[s0,s1] saved
    in %1: f32[s0,s1] tangent
    in %2: f32[s0,s1]{1,s0} tangent
    %3: f32[s0,s1] = aten.add.Tensor(%1, %2) backward for 3
    %4: f32[s0,s1] = aten.some_backward(%1, %2) backward for 3
    out %3 grad 0
    out %4 grad 1
  })");
  const auto symbols = graph.symbols;
  drop_undefined_tangents(graph, {false, true}, {true, true});
  EXPECT_EQ(graph.symbols, symbols);
  graph.compact();
  EXPECT_EQ(ir::print(graph), R"(graph @f backward [s0: 1.. ~ 3, s1: 1..] {
  in %0: f32[s0,s1] saved
  in %1: f32[s0,s1] tangent
  in %2: f32[s0,s1]{1,s0} tangent
  %3: f32[s0,s1] = antegrad.restride(%2, [s1, 1]) backward for 3
  %4: f32[s0,s1] = aten.zeros([s0, s1], dtype=f32, device=cpu) backward for 3
  %5: f32[s0,s1] = aten.some_backward(%4, %2) backward for 3
  out %3 grad 0
  out %5 grad 1
}
)");
}

// --- the graphs of testdata

struct Case {
  std::string pass, file;
  ir::Graph graph;
};

/// The graphs with symbols, except those of functional_rng's left_alone: with constant sizes it would not
/// leave them alone.
std::vector<Case> symbolic_cases() {
  std::vector<Case> out;
  const auto folder = std::filesystem::path(ANTEGRAD_SOURCE_DIR) / "src/passes/testdata";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".graph") continue;
    const auto text = read_text(entry.path());
    auto graph = ir::parse(text.substr(0, text.find("\n---\n") + 1));
    const auto pass = entry.path().parent_path().filename().string();
    if (graph.symbols.empty() || (pass == "functional_rng" && entry.path().stem() == "left_alone")) continue;
    out.push_back({pass, entry.path().filename().string(), std::move(graph)});
  }
  std::ranges::sort(out, {}, [](const Case& one) { return one.pass + "/" + one.file; });
  return out;
}

/// Normalizes spellings: numbers that may be integers or not, and padding by nothing, which is a copy.
void spell_alike(ir::Graph& graph) {
  for (auto& node : graph.nodes) {
    for (auto& arg : node.args)
      if (const auto* dim = arg.as<ir::Dim>(); dim != nullptr && node.op.ends_with(".Scalar"))
        arg = static_cast<double>(dim->constant());
    if (node.op != "aten.constant_pad_nd") continue;
    const auto& amounts = *node.args[1].as<ir::Arg::List>();
    if (std::ranges::any_of(amounts, [](const ir::Arg& amount) { return !amount.as<ir::Dim>()->is(0); }))
      continue;
    node.op = "aten.clone";
    node.args.resize(1);
  }
}

/// Runs the pass again after the substitution, because nodes left alone due to symbols may now be rewritten.
std::string then_numbers(const Pass& pass, ir::Graph graph, const Values& values) {
  pass.run(graph);
  graph = ir::substitute(graph, values);
  pass.run(graph);
  spell_alike(graph);
  return ir::print(graph);
}

std::string numbers_then(const Pass& pass, const ir::Graph& symbolic, const Values& values) {
  auto graph = ir::substitute(symbolic, values);
  pass.run(graph);
  spell_alike(graph);
  return ir::print(graph);
}

Values random_values(const ir::Graph& graph, std::mt19937& random, int64_t least) {
  Values values;
  for (const auto& symbol : graph.symbols) {
    const auto value = std::max(symbol.range.lower, least) + static_cast<int64_t>(random() % 4);
    values.push_back(std::min(value, symbol.range.upper));
  }
  return values;
}

/// At size 1, dimensions may have other strides, and some nodes are not needed (a loss may name class 2);
/// from size 3 on the texts are equal.
TEST(Testdata, PassAndNumbersMayBeSwapped) {
  std::mt19937 random(1);
  for (const auto& [name, file, graph] : symbolic_cases()) {
    const auto& pass = find_pass(name);
    for (int round = 0; round < 8; ++round) {
      const auto values = random_values(graph, random, 3);
      SCOPED_TRACE(fmt::format("{}/{} at {}", name, file, fmt::join(values, ", ")));
      ASSERT_EQ(then_numbers(pass, graph, values), numbers_then(pass, graph, values));
    }
  }
}

TEST(Testdata, TypesHoldAtEverySize) {
  std::mt19937 random(1);
  int known = 0;
  for (const auto& [name, file, symbolic] : symbolic_cases()) {
    auto graph = symbolic;
    find_pass(name).run(graph);
    for (int round = 0; round < 8; ++round) {
      const auto values = random_values(graph, random, round % 2);
      SCOPED_TRACE(fmt::format("{}/{} at {}", name, file, fmt::join(values, ", ")));
      const auto numbers = ir::substitute(graph, values);
      ASSERT_NO_THROW(ir::verify(numbers));
      known += check_types(numbers);
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(known, 2000);
}

/// One node over tensors [A, B, C, D] of random sizes, with dimensions in random order in memory.
class RandomNode {
 public:
  explicit RandomNode(uint32_t seed) : random_(seed) {
    graph_.stage = ir::Stage::Functional;
    graph_.symbols.assign(2, {{1, std::numeric_limits<int64_t>::max()}, 5});
    const auto s0 = ir::Dim::symbol(0), s1 = ir::Dim::symbol(1);
    const std::vector<ir::Dim> choices = {s0, s1, s0 * 2, s1 - 1, floor_div(s0, 2) + 1, 3, 1};
    for (int i = 0; i < 4; ++i) sizes_.push_back(choices[random_() % choices.size()]);
  }

  ir::Graph make() {
    const auto x = input(in_any_order()), y = input(in_any_order());
    const auto like_x = graph_.tensor_type(x);
    const auto vector = ir::contiguous_tensor(ir::DType::F32, {sizes_[1]});
    const auto statistic = ir::contiguous_tensor(ir::DType::F32, {sizes_[0], sizes_[1], 1, 1});
    const auto scalar = ir::contiguous_tensor(ir::DType::F32, {});
    const auto w = input(vector), b = input(vector);
    const ir::Arg::List inner = {sizes_[2], sizes_[3]};
    switch (random_() % 7) {
      case 0:
        return node("aten._softmax", {x, static_cast<int64_t>(random_() % 4), false}, {like_x});
      case 1:
        return node("aten.native_layer_norm", {x, inner, ir::None{}, ir::None{}, 1e-5},
                    {like_x, statistic, statistic});
      case 2:
        return node("aten.mse_loss", {x, y}, {scalar});
      case 3:
        return node("aten.mse_loss_backward", {input(scalar), x, y, 1}, {like_x});
      case 4:
        return node("aten.var.correction", {x, ir::Arg::List{0, 2, 3}}, {vector});
      case 5:
        return node("aten.native_batch_norm", {x, w, b, w, b, true, 0.1, 1e-5}, {like_x, vector, vector});
      default:
        return node("aten.gelu_backward", {x, y}, {like_x});
    }
  }

 private:
  ir::ValueId input(ir::TensorType type) {
    return graph_.add_input(std::move(type), ir::InputRole::UserInput);
  }

  ir::TensorType in_any_order() {
    std::vector<size_t> order = {0, 1, 2, 3};
    std::ranges::shuffle(order, random_);
    auto type = ir::contiguous_tensor(ir::DType::F32, sizes_);
    ir::Dim stride = 1;
    for (const auto dim : order) {
      type.strides[dim] = stride;
      stride = stride * sizes_[dim];
    }
    return type;
  }

  ir::Graph node(std::string op, std::vector<ir::Arg> args, const std::vector<ir::TensorType>& types) {
    ir::Node node;
    node.op = std::move(op);
    node.args = std::move(args);
    for (const auto& type : types) {
      node.outputs.push_back(graph_.add_value(type));
      graph_.outputs.push_back({node.outputs.back(), ir::OutputRole::UserOutput, {}, -1});
    }
    graph_.add_node(std::move(node));
    return std::move(graph_);
  }

  std::mt19937 random_;
  ir::Graph graph_;
  std::vector<ir::Dim> sizes_;
};

TEST(Decompose, PassAndNumbersMayBeSwappedInEveryLayout) {
  const auto& pass = find_pass("decompose");
  int decomposed = 0;
  for (uint32_t seed = 0; seed < 1000; ++seed) {
    const auto graph = RandomNode(seed).make();
    std::mt19937 random(seed);
    const auto values = random_values(graph, random, 3), ones = random_values(graph, random, 1);
    SCOPED_TRACE(fmt::format("{}at {}", ir::print(graph), fmt::join(values, ", ")));
    ASSERT_NO_THROW(ir::verify(graph));
    ASSERT_EQ(then_numbers(pass, graph, values), numbers_then(pass, graph, values));
    auto changed = graph;
    if (!pass.run(changed)) continue;
    ++decomposed;
    check_types(ir::substitute(changed, ones));
    ASSERT_FALSE(HasFailure()) << ir::print(changed) << fmt::format("at {}", fmt::join(ones, ", "));
  }
  EXPECT_GT(decomposed, 900);  // exception: softmax over s1 - 1 elements
}

}  // namespace
}  // namespace antegrad::passes
