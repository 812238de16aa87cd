// Tests of the fuzzer itself: it accepts eager, it detects compilers with known defects, and it reports small
// programs.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "fuzz/check.h"
#include "fuzz/compare.h"
#include "fuzz/op.h"
#include "fuzz/shrink.h"
#include "fuzz/wrong_compilers.h"

namespace antegrad::fuzz {
namespace {

/// Programs are tiny: worker threads would only wait for each other.
const int kThreads = (at::set_num_threads(1), at::get_num_threads());

Fn identity(Fn function) { return function; }

GeneratorConfig everything() {
  GeneratorConfig config;
  config.transpose_inplace = config.squeeze_inplace = config.unsqueeze_inplace = true;
  config.resize_inplace = config.set_inplace = true;
  return config;
}

bool defect_shows(const WrongCompiler& compiler, const Program& program) {
  const auto difference = check_with_captured(program, compiler.compile);
  return difference && difference->find(compiler.symptom) != std::string::npos;
}

TEST(Harness, EagerEqualsItself) {
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    const Program program = generate(seed);
    const auto difference = check(program, identity);
    ASSERT_FALSE(difference) << *difference << "\n" << to_string(program);
  }
}

TEST(Harness, EagerEqualsItselfWithMetadataMutations) {
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    const Program program = generate(seed, everything());
    const auto difference = check(program, identity);
    ASSERT_FALSE(difference) << *difference << "\n" << to_string(program);
  }
}

/// A check ends where eager refuses a call, which must remain the exception.
TEST(Harness, NearlyAllCallsAreMade) {
  int calls = 0;
  auto counting = [&](const Fn& function) -> Fn {
    return [&calls, function](const Tensors& inputs) {
      ++calls;
      return function(inputs);
    };
  };
  for (uint64_t seed = 0; seed < 500; ++seed) check(generate(seed), counting);
  EXPECT_GE(calls, 4 * 500 * 95 / 100);
  calls = 0;
  for (uint64_t seed = 0; seed < 500; ++seed) check(generate(seed, everything()), counting);
  EXPECT_GE(calls, 3 * 500);
}

class WrongCompilerTest : public ::testing::TestWithParam<WrongCompiler> {};

TEST_P(WrongCompilerTest, IsCaughtWithin300Programs) {
  for (uint64_t seed = 0; seed < 300; ++seed)
    if (defect_shows(GetParam(), generate(seed))) return;
  ADD_FAILURE() << "no difference spoke of '" << GetParam().symptom << "'";
}

TEST_P(WrongCompilerTest, IsCaughtByAShrunkProgram) {
  uint64_t seed = 0;
  while (seed < 300 && !defect_shows(GetParam(), generate(seed))) ++seed;
  const Program program = generate(seed);
  const Program small = shrink(program, [](const Program& p) { return defect_shows(GetParam(), p); });
  EXPECT_TRUE(defect_shows(GetParam(), small));
  EXPECT_LE(small.statements.size(), 3U) << to_string(small);
  EXPECT_LE(small.tensors.size(), 3U) << to_string(small);
  EXPECT_LE(small.outputs.size(), 2U) << to_string(small);
}

INSTANTIATE_TEST_SUITE_P(Harness, WrongCompilerTest, ::testing::ValuesIn(wrong_compilers()),
                         [](const auto& test) {
                           std::string name = test.param.name;
                           std::replace(name.begin(), name.end(), ' ', '_');
                           return name;
                         });

TEST(Harness, ASeedGivesOneProgram) {
  std::set<std::string> texts;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const std::string text = to_string(generate(seed, everything()));
    EXPECT_EQ(text, to_string(generate(seed, everything())));
    texts.insert(text);
  }
  EXPECT_EQ(texts.size(), 200U);
}

TEST(Harness, EveryOpIsGenerated) {
  std::map<const Op*, int> uses;
  GeneratorConfig with_gradients, with_awkward_numbers;
  with_gradients.gradients = true;
  with_awkward_numbers.awkward_numbers = true;
  for (uint64_t seed = 0; seed < 1500; ++seed)
    for (const GeneratorConfig& config : {everything(), with_gradients, with_awkward_numbers})
      for (const Statement& s : generate(seed, config).statements) ++uses[s.op];
  for (const Op& op : all_ops()) EXPECT_GE(uses[&op], 3) << op.name;
}

TEST(Harness, SwitchedOffOpsAreNotGenerated) {
  GeneratorConfig config;
  config.view_dtype = false;
  for (uint64_t seed = 0; seed < 500; ++seed)
    for (const Statement& s : generate(seed, config).statements)
      EXPECT_EQ(s.op->enabled, nullptr) << s.op->name;
}

/// Calls `visit` with every statement and the values that it is about to read.
void for_each_statement(const Program& program,
                        const std::function<void(const Statement&, const Tensors&)>& visit) {
  const World world = make_world(program);
  std::map<int, at::Tensor> values;
  size_t next_input = 0, next_captured = 0;
  for (const TensorSpec& spec : program.tensors)
    values[spec.var] = spec.captured ? world.captured[next_captured++] : world.inputs[next_input++];
  for (const Statement& s : program.statements) {
    Tensors args;
    for (const int var : s.args) args.push_back(values.at(var));
    visit(s, args);
    const Tensors results = apply(s, args, RunMode::Plain);
    for (size_t i = 0; i < s.results.size(); ++i) values[s.results[i]] = results[i];
  }
}

at::Tensor to_meta(const at::Tensor& t) {
  const auto numel = static_cast<int64_t>(t.storage().nbytes() / t.itemsize());
  return at::empty({numel}, t.options().device(at::kMeta))
      .as_strided(t.sizes(), t.strides(), t.storage_offset());
}

/// Meta tensors have no data, so reading any would throw.
TEST(Harness, StatementsNeverReadData) {
  const at::NoGradGuard no_grad;
  std::set<std::string> ran;
  for (uint64_t seed = 0; seed < 500; ++seed) {
    for_each_statement(generate(seed, everything()), [&](const Statement& s, const Tensors& args) {
      Tensors metas;
      for (const at::Tensor& arg : args) metas.push_back(to_meta(arg));
      try {
        apply(s, metas, RunMode::Plain);
        ran.insert(s.op->name);
      } catch (const c10::NotImplementedError&) {  // ops without a meta kernel
      } catch (const std::exception& error) {
        ADD_FAILURE() << s.op->name << ": " << message_of(error);
      }
    });
  }
  EXPECT_GE(ran.size(), 80U);
}

/// Returns the same values with gaps between them and with the dims in another order.
at::Tensor scattered(const at::Tensor& t) {
  Sizes sizes = t.sizes().vec();
  std::reverse(sizes.begin(), sizes.end());
  sizes.push_back(2);
  at::Tensor copy = at::zeros(sizes, t.options()).select(-1, 1);
  if (t.dim() > 0)
    copy = copy.permute([&] {
      Sizes dims;
      for (int64_t d = t.dim(); d-- > 0;) dims.push_back(d);
      return dims;
    }());
  return copy.copy_(t);
}

/// Comparing bits is fair only if eager's own rounding does not depend on the layout of the arguments.
TEST(Harness, ValuesDoNotDependOnLayout) {
  const at::NoGradGuard no_grad;
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    const Program program = generate(seed);
    for_each_statement(program, [&](const Statement& s, const Tensors& args) {
      if (s.op->group == OpGroup::View) return;
      Tensors dense, sparse;
      for (const at::Tensor& arg : args) {
        dense.push_back(arg.clone(at::MemoryFormat::Contiguous));
        sparse.push_back(scattered(arg));
      }
      Tensors expected = apply(s, dense, RunMode::Plain), actual = apply(s, sparse, RunMode::Plain);
      expected.insert(expected.end(), dense.begin(), dense.end());
      actual.insert(actual.end(), sparse.begin(), sparse.end());
      for (size_t i = 0; i < expected.size(); ++i) {
        const auto difference = value_difference(expected[i], actual[i]);
        ASSERT_FALSE(difference) << s.op->name << ": " << *difference << "\n" << to_string(program);
      }
    });
  }
}

/// Writes whose result depends on the order of memory accesses have no well-defined eager result.
TEST(Harness, HazardsAreSeen) {
  const at::NoGradGuard no_grad;
  const Op* copy = nullptr;
  for (const Op& op : all_ops())
    if (op.name == "copy_") copy = &op;
  Statement s;
  s.op = copy;
  s.args = {0, 1};
  const at::Tensor x = at::zeros({3, 3});
  EXPECT_THROW(apply(s, {x, x.t()}, RunMode::Checked), Hazard);
  EXPECT_THROW(apply(s, {x.view({9}).slice(0, 1, 9), x.view({9}).slice(0, 0, 8)}, RunMode::Checked), Hazard);
  EXPECT_THROW(apply(s, {x.view({9}).unfold(0, 3, 1), at::zeros({3})}, RunMode::Checked), Hazard);
  EXPECT_NO_THROW(apply(s, {x[0], x[1]}, RunMode::Checked));
  EXPECT_NO_THROW(apply(s, {x, x}, RunMode::Checked));
}

}  // namespace
}  // namespace antegrad::fuzz
