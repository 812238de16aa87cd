// TorchScript modules: tests/data/scripted.pt (made by tests/data/make_scripted.cpp) and small ones that are
// defined here.
#include <antegrad/antegrad.h>
#include <antegrad/jit.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/runtime/jit_exception.h>
#include <torch/script.h>

#include "support/same_as_eager.h"
#include "support/seeds.h"

namespace antegrad::test {
namespace {

using at::Tensor;
using torch::jit::Module;

class Scripted : public ::testing::Test {
 protected:
  static Module load() {
    return torch::jit::load(std::string(ANTEGRAD_SOURCE_DIR) + "/tests/data/scripted.pt");
  }

  static std::vector<Tensor> buffers_of(const Module& module) {
    std::vector<Tensor> out;
    for (const auto& buffer : module.buffers()) out.push_back(buffer);
    return out;
  }

  /// Returns all tensors that a call returns.
  static std::vector<Tensor> outcome(const c10::IValue& result) {
    const auto& elements = result.toTupleRef().elements();
    const auto dict = elements[1].toGenericDict();
    return {elements[0].toTensor(), dict.at("hidden").toTensor(), dict.at("rows").toTensor()};
  }

  torch::NoGradGuard no_grad_;
};

Module defined(const std::string& source) {
  Module module("M");
  module.register_attribute("training", c10::BoolType::get(), true);
  module.define(source);
  return module;
}

TEST_F(Scripted, EvalEqualsEager) {
  auto module = load();
  auto eager = load();
  module.eval();
  eager.eval();
  auto compiled = compile(module);
  for (int call = 0; call < 3; ++call) {
    auto x = torch::randn({3, 4});
    EXPECT_TRUE(same(outcome(eager.forward({x})), outcome(compiled(x))));
  }
  EXPECT_EQ(compiled.report().captures, 1u);
}

// A module from a file has its own types, among them that of lists of indices.
TEST_F(Scripted, IndexingFromAFile) {
  std::stringstream file;
  defined("def forward(self, x, i):\n    return x[:, i] * x[i, 0], x[i]\n").save(file);
  auto module = torch::jit::load(file);
  auto compiled = compile(module);
  for (int call = 0; call < 2; ++call) {
    auto x = torch::randn({5, 5}), i = torch::randint(5, {3});
    const auto tensors = [](const c10::IValue& result) {
      const auto& elements = result.toTupleRef().elements();
      return std::vector<Tensor>{elements[0].toTensor(), elements[1].toTensor()};
    };
    EXPECT_TRUE(same(tensors(module.forward({x, i})), tensors(compiled(x, i))));
  }
}

TEST_F(Scripted, ControlFlowOnSizes) {
  auto module = load();
  module.eval();
  auto compiled = compile(module);
  uint64_t captures = 0;
  for (auto sizes : {std::vector<int64_t>{2, 4}, {2, 8}, {2, 16}, {5, 16}, {5, 4}}) {
    ++captures;
    for (int call = 0; call < 2; ++call) {
      auto x = torch::randn(sizes);
      EXPECT_TRUE(same(outcome(module.forward({x})), outcome(compiled(x)))) << x.sizes();
    }
    EXPECT_EQ(compiled.report().captures, captures);
  }
}

TEST_F(Scripted, TrainingDrawsAndUpdatesLikeEager) {
  auto module = load();
  auto eager = load();
  module.train();
  eager.train();
  Options options;
  options.rng = Rng::Eager;
  auto compiled = compile(module, options);
  for (int call = 0; call < 3; ++call) {
    auto x = torch::randn({3, 8});
    test::manual_seed(call);
    auto expected = outcome(eager.forward({x}));
    auto eager_after = torch::rand({2});
    test::manual_seed(call);
    auto out = outcome(compiled(x));
    EXPECT_TRUE(same(expected, out));
    EXPECT_TRUE(same_state(buffers_of(eager), buffers_of(module)));
    EXPECT_TRUE(same(eager_after, torch::rand({2})));  // the generator is in the state that eager leaves
  }
  EXPECT_EQ(compiled.report().captures, 1u);
}

TEST_F(Scripted, TrainingFlagIsAGuard) {
  auto module = load();
  module.eval();
  auto compiled = compile(module);
  auto x = torch::randn({3, 4});
  auto first = outcome(compiled(x));
  module.train();
  test::manual_seed(1);
  auto trained = compiled(x).toTupleRef().elements()[0].toTensor();
  EXPECT_EQ(compiled.report().captures, 2u);
  EXPECT_FALSE(trained.equal(first[0]));
  module.eval();
  EXPECT_TRUE(same(outcome(module.forward({x})), outcome(compiled(x))));
  EXPECT_EQ(compiled.report().captures, 2u);
}

TEST_F(Scripted, NumbersAreGuards) {
  auto module = load();
  module.eval();
  auto compiled = compile(module);
  auto x = torch::randn({2, 4});
  for (double scale : {1.0, 0.5, 0.5, 1.0})
    EXPECT_TRUE(same(outcome(module.forward({x, scale})), outcome(compiled(x, scale))));
  EXPECT_EQ(compiled.report().captures, 2u);
  module.setattr("gain", 3.0);
  EXPECT_TRUE(same(outcome(module.forward({x, 1.0})), outcome(compiled(x, 1.0))));
  EXPECT_EQ(compiled.report().captures, 3u);
}

TEST_F(Scripted, ParametersAreGuards) {
  auto module = load();
  module.eval();
  auto compiled = compile(module);
  auto x = torch::randn({2, 4});
  compiled(x);
  for (const auto& p : module.parameters()) p.add_(0.5);  // in place: new values, same graph
  EXPECT_TRUE(same(outcome(module.forward({x})), outcome(compiled(x))));
  EXPECT_EQ(compiled.report().captures, 1u);
  module.attr("block").toModule().setattr("bias", torch::randn({4}));
  EXPECT_TRUE(same(outcome(module.forward({x})), outcome(compiled(x))));
  EXPECT_EQ(compiled.report().captures, 2u);
  module.to(torch::kDouble);
  auto wide = x.to(torch::kDouble);
  EXPECT_TRUE(same(outcome(module.forward({wide})), outcome(compiled(wide))));
  EXPECT_EQ(compiled.report().captures, 3u);
}

TEST_F(Scripted, EagerRunsBeforeAndAfterAreUntouched) {
  // TorchScript specialises a method on the arguments it has seen, which must never be fakes.
  auto module = load();
  module.eval();
  auto x = torch::randn({3, 4});
  std::vector<Tensor> expected;
  for (int call = 0; call < 3; ++call) expected = outcome(module.forward({x}));
  auto compiled = compile(module);
  EXPECT_TRUE(same(expected, outcome(compiled(x))));
  for (int call = 0; call < 3; ++call) EXPECT_TRUE(same(expected, outcome(module.forward({x}))));
  auto fresh = load();
  fresh.eval();
  auto compiled_first = compile(fresh);
  EXPECT_TRUE(same(expected, outcome(compiled_first(x))));
  for (int call = 0; call < 3; ++call) EXPECT_TRUE(same(expected, outcome(fresh.forward({x}))));
}

TEST_F(Scripted, GradModeLeavesParametersAlone) {
  auto module = load();
  module.eval();
  for (auto p : module.parameters()) p.set_requires_grad(true);
  torch::AutoGradMode grad(true);
  auto compiled = compile(module);
  compiled(torch::randn({2, 4}));
  for (const auto& p : module.parameters()) {
    EXPECT_TRUE(p.is_leaf());
    EXPECT_FALSE(p.grad().defined());
    EXPECT_EQ(p._version(), 0);
  }
}

TEST_F(Scripted, ListsDictionariesAndTuples) {
  auto module = defined(R"(
    def forward(self, xs: List[Tensor], named: Dict[str, Tensor], n: int, flag: bool, text: str, maybe: Optional[Tensor]):
        total = xs[0] * n
        for x in xs:
            total = total + x
        if flag:
            total = total + named["bias"]
        if maybe is not None:
            total = total * maybe
        return [total, xs[0]], {1: total.sum()}, n + 1, text, ([n, 2], None, 0.5, total)
  )");
  auto compiled = compile(module);
  auto a = torch::randn({2}), b = torch::randn({2});
  c10::Dict<std::string, Tensor> named;
  named.insert("bias", b);
  auto call = [&](int64_t n, bool flag, const std::string& text, const c10::IValue& maybe) {
    std::vector<Tensor> xs{a, b};
    auto eager = module.forward({xs, named, n, flag, text, maybe});
    auto out = compiled(xs, named, n, flag, text, maybe);
    const auto& e = eager.toTupleRef().elements();
    const auto& c = out.toTupleRef().elements();
    EXPECT_TRUE(same(e[0].toTensorVector(), c[0].toTensorVector()));
    EXPECT_TRUE(c[0].toTensorVector()[1].is_same(a));
    EXPECT_TRUE(same(e[1].toGenericDict().at(1).toTensor(), c[1].toGenericDict().at(1).toTensor()));
    EXPECT_EQ(c[2].toInt(), n + 1);
    EXPECT_EQ(c[3].toStringRef(), text);
    const auto& inner = c[4].toTupleRef().elements();
    EXPECT_EQ(inner[0].toIntVector(), (std::vector<int64_t>{n, 2}));
    EXPECT_TRUE(inner[1].isNone());
    EXPECT_EQ(inner[2].toDouble(), 0.5);
    EXPECT_TRUE(inner[3].toTensor().is_same(c[0].toTensorVector()[0]));
    EXPECT_EQ(eager.type()->str(), out.type()->str());
    return compiled.report().captures;
  };
  EXPECT_EQ(call(1, true, "t", {}), 1u);
  EXPECT_EQ(call(1, true, "t", {}), 1u);
  EXPECT_EQ(call(2, true, "t", {}), 2u);
  EXPECT_EQ(call(2, false, "t", {}), 3u);
  EXPECT_EQ(call(2, false, "u", {}), 4u);
  EXPECT_EQ(call(2, false, "u", b), 5u);
  EXPECT_EQ(call(2, true, "t", {}), 5u);
}

TEST_F(Scripted, InPlaceOnArguments) {
  auto module = defined(R"(
    def forward(self, x):
        x.mul_(2)
        return x.t()
  )");
  auto compiled = compile(module);
  auto x = torch::randn({2, 3});
  auto eager = x.clone();
  for (int call = 0; call < 2; ++call) {
    auto expected = module.forward({eager}).toTensor();
    auto out = compiled(x).toTensor();
    EXPECT_TRUE(same(expected, out));
    EXPECT_TRUE(same_state(eager, x));
    EXPECT_TRUE(out.is_alias_of(x));
  }
}

TEST_F(Scripted, ChangedAttributesAreErrors) {
  Module module("S");
  auto last = torch::zeros({1});
  module.register_attribute("training", c10::BoolType::get(), true);
  module.register_attribute("last", c10::TensorType::get(), last);
  module.register_attribute("all", c10::ListType::ofTensors(), c10::List<Tensor>({last}));
  module.register_attribute("count", c10::IntType::get(), 7);
  module.define(R"(
    def forward(self, x):
        if self.training:
            self.last = x + 1
            self.all.append(x)
            self.count += 1
        return x * self.count
  )");
  auto compiled = compile(module);
  auto x = torch::randn({2});
  EXPECT_EQ(code_thrown_by([&] { compiled(x); }), ErrorCode::UnsupportedOp);
  EXPECT_TRUE(module.attr("last").toTensor().is_same(last));
  ASSERT_EQ(module.attr("all").toTensorVector().size(), 1u);
  EXPECT_TRUE(module.attr("all").toTensorVector()[0].is_same(last));
  EXPECT_EQ(module.attr("count").toInt(), 7);
  module.eval();
  EXPECT_TRUE(same(x * 7, compiled(x).toTensor()));

  module.train();
  Options options;
  options.unsupported = Unsupported::Eager;
  auto eager = compile(module, options);
  EXPECT_TRUE(same(x * 8, eager(x).toTensor()));
  EXPECT_TRUE(same(x * 9, eager(x).toTensor()));
  EXPECT_EQ(module.attr("all").toTensorVector().size(), 3u);
  EXPECT_EQ(eager.report().eager_calls, 2u);
}

TEST_F(Scripted, ChangedArgumentsAreErrors) {
  auto module = defined(R"(
    def forward(self, xs: List[Tensor]):
        xs.append(xs[0] * 2)
        return xs[1]
  )");
  auto compiled = compile(module);
  c10::List<Tensor> xs({torch::randn({2})});
  EXPECT_EQ(code_thrown_by([&] { compiled(xs); }), ErrorCode::UnsupportedOp);
  EXPECT_EQ(xs.size(), 1u);
}

TEST_F(Scripted, ItsOwnErrorsPassThrough) {  // ERR-28
  Module module("E");
  auto seen = torch::zeros({1});
  module.register_buffer("seen", seen);
  module.define(R"(
    def forward(self, x):
        self.seen.add_(1)
        assert x.size(0) == 1, "too long"
        return x + self.seen
  )");
  auto compiled = compile(module);
  EXPECT_THROW(compiled(torch::zeros({2})), torch::jit::JITException);
  EXPECT_EQ(seen._version(), 0);
  EXPECT_EQ(seen.item<float>(), 0);
  EXPECT_EQ(compiled(torch::zeros({1})).toTensor().item<float>(), 1);
  EXPECT_EQ(seen.item<float>(), 1);
}

TEST_F(Scripted, FrozenModules) {  // its parameters are constants of the method
  auto module = load();
  module.eval();
  auto frozen = torch::jit::freeze(module);
  auto compiled = compile(frozen);
  for (int call = 0; call < 2; ++call) {
    auto x = torch::randn({3, 8});
    EXPECT_TRUE(same(outcome(frozen.forward({x})), outcome(compiled(x))));
  }
  EXPECT_EQ(compiled.report().captures, 1u);
}

TEST_F(Scripted, UnknownKindsOfArgumentsAreErrors) {
  auto compiled = compile(load());
  const c10::IValue generator(at::detail::getDefaultCPUGenerator());
  EXPECT_EQ(code_thrown_by([&] { compiled(generator); }), ErrorCode::UnsupportedArgument);
}

TEST_F(Scripted, DataReadsAreErrors) {
  auto module = defined(R"(
    def forward(self, x):
        if bool(x.sum() > 0):
            return x
        return -x
  )");
  auto compiled = compile(module);
  EXPECT_EQ(code_thrown_by([&] { compiled(torch::ones({2})); }), ErrorCode::DataRead);
}

TEST_F(Scripted, ModulesAsArgumentsAndInsideOtherFunctions) {
  auto module = load();
  module.eval();
  auto x = torch::randn({2, 4});
  auto f = [](const Module& m, const Tensor& t) {
    return Module(m).forward({t}).toTupleRef().elements()[0].toTensor() + 1;
  };
  auto compiled = compile(f);
  EXPECT_TRUE(same(f(module, x), compiled(module, x)));
  module.setattr("gain", 0.5);
  EXPECT_TRUE(same(f(module, x), compiled(module, x)));
  EXPECT_EQ(compiled.report().captures, 2u);

  auto inner = compile(module);
  auto outer = compile([&](const Tensor& t) { return inner(t).toTupleRef().elements()[0].toTensor() * 2; });
  EXPECT_TRUE(same(module.forward({x}).toTupleRef().elements()[0].toTensor() * 2, outer(x)));
  EXPECT_EQ(inner.report().captures, 0u);
}

}  // namespace
}  // namespace antegrad::test
