// Packages give what the compiled functions gave that they were made from.
#include <atomic>
#include <map>
#include <thread>
#include <tuple>

#include "antegrad/c.h"
#include "package_scene.h"

namespace {
using namespace antegrad;
using namespace antegrad::test;

struct SmallScene {
  std::shared_ptr<SmallNet> net = [] {
    torch::manual_seed(3);
    return std::make_shared<SmallNet>();
  }();
  at::Tensor x = torch::randn({5, 4}).set_requires_grad(true);
  decltype(antegrad::compile(std::shared_ptr<SmallNet>())) compiled = antegrad::compile(net);
  PackageRun expected = run_with_gradients(compiled, x, net->parameters());
};

TEST(Package, GivesValuesAndGradientsOfTheCompiledFunction) {
  SmallScene scene;
  PackageFile file;
  package(file.path(), {{"net", scene.compiled}}, {.metadata = {{"author", "somebody"}}});
  const auto loaded = Package::load(file.path(), {.strict = true});
  EXPECT_EQ(loaded.functions(), std::vector<std::string>{"net"});
  EXPECT_EQ(loaded.info().metadata.at("author"), "somebody");
  ASSERT_EQ(loaded.weights().size(), 4u);
  std::vector<at::Tensor> parameters;
  for (const auto& item : scene.net->named_parameters()) {
    EXPECT_TRUE(torch::equal(loaded.weight(item.key()), item.value())) << item.key();
    parameters.push_back(loaded.weight(item.key()));
  }
  const auto function = loaded.function("net");
  EXPECT_EQ(function.arguments(), "(tensor)");
  EXPECT_EQ(function.result(), "tensor");
  expect_same(run_with_gradients(tensor_function(function), scene.x, parameters), scene.expected);
  loaded.verify();
}

TEST(Package, ResultsOutliveThePackage) {
  SmallScene scene;
  PackageFile file;
  package(file.path(), {{"net", scene.compiled}});
  auto x = scene.x.detach().clone().set_requires_grad(true);
  at::Tensor result;
  {
    const auto loaded = Package::load(file.path(), {.strict = true});
    result = loaded.function("net")(x).toTensor();
  }
  std::filesystem::remove(file.path());
  result.sum().backward();
  EXPECT_TRUE(torch::equal(x.grad(), scene.expected.gradients.back()));
}

TEST(PackageChild, DISABLED_TrainsWithoutACompiler) {
  const auto loaded = Package::load(std::getenv("PACKAGE"), {.strict = true});
  torch::optim::SGD optimizer(loaded.parameters(), 0.1);
  std::vector<at::Tensor> data;
  torch::load(data, std::getenv("DATA"));
  const auto function = loaded.function("net");
  for (size_t i = 1; i < data.size(); ++i) {
    optimizer.zero_grad();
    auto loss = function(data[0]).toTensor().pow(2).mean();
    loss.backward();
    optimizer.step();
    ASSERT_TRUE(torch::equal(loss, data[i])) << i;
  }
  for (const auto& note : loaded.notes()) ASSERT_NE(note.find("of the file"), note.npos) << note;
}

// GCC-25, PKG-09
TEST(Package, TrainsInAnotherProcessWithoutACompiler) {
  SmallScene scene;
  PackageFile file, data("data");
  package(file.path(), {{"net", scene.compiled}});
  torch::optim::SGD optimizer(scene.net->parameters(), 0.1);
  std::vector<at::Tensor> kept{scene.x.detach().set_requires_grad(true)};
  for (int i = 0; i < 5; ++i) {
    optimizer.zero_grad();
    auto loss = scene.compiled(scene.x).pow(2).mean();
    loss.backward();
    optimizer.step();
    kept.push_back(loss.detach());
  }
  torch::save(kept, data.path());
  EXPECT_EQ(run_child("PackageChild.DISABLED_TrainsWithoutACompiler",
                      {{"PACKAGE", file.path()}, {"DATA", data.path()}}),
            0);
}

struct NormNet : torch::nn::Module {
  NormNet() {
    linear = register_module("linear", torch::nn::Linear(4, 6));
    norm = register_module("norm", torch::nn::BatchNorm1d(6));
  }
  at::Tensor forward(const at::Tensor& x) { return torch::relu(norm(linear(x))).sum(); }
  torch::nn::Linear linear{nullptr};
  torch::nn::BatchNorm1d norm{nullptr};
};

TEST(Package, WritesBuffers) {
  torch::manual_seed(4);
  auto net = std::make_shared<NormNet>();
  const auto x = torch::randn({7, 4});
  auto compiled = antegrad::compile(net);
  compiled.explain(x);  // nothing runs: the buffers are as they were
  PackageFile file;
  package(file.path(), {{"train", compiled}});
  const auto loaded = Package::load(file.path(), {.strict = true});
  const auto function = loaded.function("train");
  for (int i = 0; i < 3; ++i) {
    auto expected = compiled(x);
    auto got = function(x).toTensor();
    EXPECT_TRUE(torch::equal(got, expected));
    net->zero_grad();
    expected.backward();
    for (auto& parameter : loaded.parameters()) parameter.mutable_grad() = at::Tensor();
    got.backward();
    for (const auto& item : net->named_parameters())
      EXPECT_TRUE(torch::equal(loaded.weight(item.key()).grad(), item.value().grad())) << item.key();
    for (const auto& item : net->named_buffers())
      EXPECT_TRUE(torch::equal(loaded.weight(item.key()), item.value())) << item.key();
  }
  EXPECT_EQ(loaded.weight("norm.num_batches_tracked").item<int64_t>(), 3);
}

TEST(Package, DrawsTheNumbersOfTheCompiledFunction) {
  auto compiled = antegrad::compile([](const at::Tensor& x) { return torch::dropout(x, 0.5, true) * x; });
  const auto x = torch::randn({64}).set_requires_grad(true);
  torch::manual_seed(7);
  const auto expected = run_with_gradients(compiled, x, {});
  PackageFile file;
  package(file.path(), {{"dropout", compiled}});
  const auto loaded = Package::load(file.path(), {.strict = true});
  torch::manual_seed(7);
  const auto got = run_with_gradients(tensor_function(loaded.function("dropout")), x, {});
  expect_same(got, expected);
}

// DYN-07
TEST(Package, ServesOtherSizesInTheRanges) {
  const auto weight = torch::randn({4, 3}).set_requires_grad(true);
  auto compiled =
      antegrad::compile([weight](const at::Tensor& x) { return torch::tanh(x.mm(weight)).mean(0); },
                        {.name = "rows", .dynamic_sizes = {antegrad::dynamic(0, 0, 2, 64)}});
  compiled(torch::randn({5, 4}));
  PackageFile file;
  package(file.path(), {{"rows", compiled}}, {.names = {{"weight", weight}}});
  const auto loaded = Package::load(file.path(), {.strict = true});
  const auto rows = tensor_function(loaded.function("rows"));
  for (const int64_t n : {5, 2, 17, 64}) {
    const auto x = torch::randn({n, 4});
    expect_same(run_with_gradients(rows, x, {loaded.weight("weight")}),
                run_with_gradients(compiled, x, {weight}));
  }
  const auto text = error_of([&] { rows(torch::randn({65, 4})); }, ErrorCode::InvalidArgument);
  EXPECT_NE(text.find("64"), text.npos) << text;
  const auto other = error_of([&] { rows(torch::randn({5, 5})); }, ErrorCode::InvalidArgument);
  EXPECT_NE(other.find("tensor 0 size 1"), other.npos) << other;
}

TEST(Package, HasSeveralVersions) {
  auto compiled = antegrad::compile([](const at::Tensor& x, double factor, const std::string& mode) {
    return mode == "sin" ? torch::sin(x) * factor : torch::cos(x) * factor;
  });
  const auto x = torch::randn({6});
  const auto y = x.to(torch::kDouble);
  for (const auto* mode : {"sin", "cos"}) compiled(x, 2.0, std::string(mode));
  compiled(x, 3.0, std::string("sin"));  // the number becomes a symbol
  compiled(y, 2.0, std::string("sin"));
  {
    const torch::NoGradGuard no_grad;
    compiled(x, 2.0, std::string("sin"));
  }
  PackageFile file;
  package(file.path(), {{"wave", compiled}});
  const auto loaded = Package::load(file.path(), {.strict = true});
  const auto wave = loaded.function("wave");
  EXPECT_TRUE(torch::equal(wave(x, 2.0, "sin").toTensor(), compiled(x, 2.0, std::string("sin"))));
  EXPECT_TRUE(torch::equal(wave(x, 3.0, "sin").toTensor(), compiled(x, 3.0, std::string("sin"))));
  EXPECT_TRUE(torch::equal(wave(x, 2.0, "cos").toTensor(), compiled(x, 2.0, std::string("cos"))));
  EXPECT_TRUE(torch::equal(wave(y, 2.0, "sin").toTensor(), compiled(y, 2.0, std::string("sin"))));
  const auto number = error_of([&] { wave(x, 4.0, "sin"); }, ErrorCode::InvalidArgument);
  EXPECT_NE(number.find("argument 1 is the number 4"), number.npos) << number;
  const auto grad_mode = error_of(
      [&] {
        const torch::NoGradGuard no_grad;
        wave(x, 2.0, "cos");
      },
      ErrorCode::InvalidArgument);
  EXPECT_NE(grad_mode.find("serves this call"), grad_mode.npos) << grad_mode;
}

struct State {
  at::Tensor positions;
  std::vector<at::Tensor> others;
  int64_t steps = 1;
};
auto antegrad_fields(State& s) { return std::tie(s.positions, s.others, s.steps); }

TEST(Package, KeepsTheStructureOfArgumentsAndResults) {
  auto compiled = antegrad::compile([](const State& state) {
    return std::make_tuple(state.positions * double(state.steps),
                           std::map<std::string, at::Tensor>{{"sum", state.others[0] + state.others[1]}});
  });
  const State state{torch::randn({3}), {torch::randn({2}), torch::randn({2})}, 4};
  const auto expected = compiled(state);
  PackageFile file;
  package(file.path(), {{"step", compiled}});
  const auto function = Package::load(file.path(), {.strict = true}).function("step");
  EXPECT_EQ(function.arguments(), "((tensor, [tensor, tensor], int 4))");
  EXPECT_EQ(function.result(), "(tensor, {\"sum\": tensor})");
  const auto result = function(state);
  EXPECT_TRUE(torch::equal(result.toTupleRef().elements()[0].toTensor(), std::get<0>(expected)));
  EXPECT_TRUE(torch::equal(result.toTupleRef().elements()[1].toGenericDict().at("sum").toTensor(),
                           std::get<1>(expected).at("sum")));
  const auto flat = function.call_tensors({state.positions, state.others[0], state.others[1]});
  ASSERT_EQ(flat.size(), 2u);
  EXPECT_TRUE(torch::equal(flat[0], std::get<0>(expected)));
}

TEST(Package, ReturnsAliasesAndWritesToArguments) {
  auto compiled = antegrad::compile([](at::Tensor x) {
    x.add_(1);
    return std::vector<at::Tensor>{x, x.view({2, 3}), x * 2};
  });
  compiled(torch::zeros({6}));
  PackageFile file;
  package(file.path(), {{"alias", compiled}});
  const auto function = Package::load(file.path(), {.strict = true}).function("alias");
  auto x = torch::zeros({6});
  const auto results = function(x).toTensorVector();
  EXPECT_TRUE(torch::equal(x, torch::ones({6})));
  EXPECT_TRUE(results[0].is_same(x));
  EXPECT_EQ(results[1].data_ptr(), x.data_ptr());
  EXPECT_EQ(results[1].sizes(), at::IntArrayRef({2, 3}));
  EXPECT_TRUE(torch::equal(results[2], 2 * x));
}

// PKG-22
TEST(Package, ReplacesWeights) {
  SmallScene scene;
  PackageFile file;
  package(file.path(), {{"net", scene.compiled}});
  const auto loaded = Package::load(file.path(), {.strict = true});
  const auto function = tensor_function(loaded.function("net"));
  torch::manual_seed(11);
  auto other = std::make_shared<SmallNet>();
  function(scene.x);
  loaded.share(*other);
  auto other_compiled = antegrad::compile(other);
  expect_same(run_with_gradients(function, scene.x, other->parameters()),
              run_with_gradients(other_compiled, scene.x, other->parameters()));
  function(scene.x).sum().backward();
  EXPECT_TRUE(other->first->weight.grad().defined());
  const auto wrong = error_of(
      [&] {
        loaded.replace({{"first.weight", torch::zeros({4, 8})}});
      },
      ErrorCode::InvalidArgument);
  EXPECT_NE(wrong.find("Float[8, 4]"), wrong.npos) << wrong;
  EXPECT_TRUE(loaded.weight("first.weight").is_same(other->first->weight));
  EXPECT_NE(error_of(
                [&] {
                  loaded.replace({{"third.weight", torch::zeros({4, 8})}});
                },
                ErrorCode::InvalidArgument),
            "");
  PackageFile saved("saved");
  loaded.save(saved.path());
  const auto again = Package::load(saved.path(), {.strict = true, .check_weights = true});
  EXPECT_TRUE(torch::equal(again.weight("first.weight"), other->first->weight));
  EXPECT_TRUE(torch::equal(tensor_function(again.function("net"))(scene.x), function(scene.x)));
}

// PKG-21
TEST(Package, TakesExternalWeights) {
  SmallScene scene;
  PackageFile file;
  package(file.path(), {{"net", scene.compiled}}, {.weights = PackagedWeights::External});
  const auto loaded = Package::load(file.path(), {.strict = true});
  const auto function = tensor_function(loaded.function("net"));
  const auto text = error_of([&] { function(scene.x); }, ErrorCode::InvalidArgument);
  EXPECT_NE(text.find("the weight \"first.weight\" is not in the file and was not given"), text.npos) << text;
  loaded.share(*scene.net);
  expect_same(run_with_gradients(function, scene.x, scene.net->parameters()), scene.expected);
}

TEST(Package, SharesWeightsOfItsFunctions) {
  SmallScene scene;
  auto loss =
      antegrad::compile([net = scene.net](const at::Tensor& x) { return net->forward(x).pow(2).sum(); });
  loss(scene.x);
  PackageFile file;
  package(file.path(), {{"net", scene.compiled}, {"loss", loss}}, PackageOptions().name_weights(*scene.net));
  const auto loaded = Package::load(file.path(), {.strict = true});
  EXPECT_EQ(loaded.weights().size(), 4u);
  EXPECT_EQ(loaded.parameters().size(), 4u);
  {
    const torch::NoGradGuard no_grad;
    loaded.weight("second.bias").add_(1);
    scene.net->second->bias.add_(1);
  }
  EXPECT_TRUE(torch::equal(tensor_function(loaded.function("loss"))(scene.x), loss(scene.x)));
  EXPECT_TRUE(
      torch::equal(Package::load(file.path()).weight("second.bias") + 1, loaded.weight("second.bias")))
      << "writes do not reach the file";
}

TEST(Package, CompilesAnewWhatTheFileHasNoCodeFor) {
  SmallScene scene;
  PackageFile file;
  package(file.path(), {{"net", scene.compiled}});
  const auto check = [&](PackageLoad load, const std::string& why) {
    load.strict = true;
    const auto refused =
        error_of([&] { Package::load(file.path(), load).function("net")(scene.x); }, ErrorCode::CacheMiss);
    EXPECT_NE(refused.find(why), refused.npos) << refused;
    load.strict = false;
    const auto loaded = Package::load(file.path(), load);
    const auto got =
        run_with_gradients(tensor_function(loaded.function("net")), scene.x, loaded.parameters());
    EXPECT_TRUE(torch::allclose(got.value, scene.expected.value));
    for (size_t i = 0; i < got.gradients.size(); ++i)
      EXPECT_TRUE(torch::allclose(got.gradients[i], scene.expected.gradients[i], 1e-4, 1e-6));
    ASSERT_EQ(loaded.notes().size(), 2u);
    for (const auto& note : loaded.notes())
      EXPECT_NE(note.find("compiled anew, because " + why), note.npos) << note;
  };
  check({.ir_only = true}, "no code of the file is used");
  PackageLoad elsewhere;
  elsewhere.options.isa = Isa::Baseline;
  check(elsewhere, "the file has no kernels for x86_64 and baseline");
  PackageFile both("both");
  package(both.path(), {{"net", scene.compiled}}, {.isas = {Isa::Baseline}});
  elsewhere.strict = true;
  const auto loaded = Package::load(both.path(), elsewhere);
  EXPECT_TRUE(torch::allclose(tensor_function(loaded.function("net"))(scene.x), scene.expected.value));
  EXPECT_NE(loaded.notes()[0].find("kernels for baseline of the file"), std::string::npos)
      << loaded.notes()[0];
}

TEST(Package, ComputesSomeGradientsByAPassForMore) {
  SmallScene scene;
  PackageFile file;
  package(file.path(), {{"net", scene.compiled}});
  const auto loaded = Package::load(file.path(), {.strict = true});
  auto x = scene.x.detach().clone().set_requires_grad(true);
  const auto value = tensor_function(loaded.function("net"))(x);
  EXPECT_TRUE(torch::equal(torch::autograd::grad({value.sum()}, {x})[0], scene.expected.gradients.back()));
  for (const auto& parameter : loaded.parameters()) EXPECT_FALSE(parameter.grad().defined());
}

TEST(Package, IsCalledByManyThreads) {
  SmallScene scene;
  PackageFile file;
  package(file.path(), {{"net", scene.compiled}});
  const auto loaded = Package::load(file.path(), {.strict = true});
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      const auto function = tensor_function(loaded.function("net"));
      for (int k = 0; k < 20; ++k) {
        const auto run = run_with_gradients(function, scene.x, loaded.parameters());
        right += torch::equal(run.value, scene.expected.value);
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(right, 160);
}

TEST(Package, RefusesWhatItCannotHold) {
  PackageFile file;
  auto never = antegrad::compile([](const at::Tensor& x) { return x + 1; });
  const auto not_called = error_of(
      [&] {
        package(file.path(), {{"never", never}});
      },
      ErrorCode::InvalidArgument);
  EXPECT_NE(not_called.find("it has no compiled version"), not_called.npos) << not_called;
  never(torch::zeros({2}));
  EXPECT_NE(error_of([&] { package(file.path(), {{"a b", never}}); }, ErrorCode::InvalidArgument), "");
  EXPECT_NE(error_of(
                [&] {
                  package(file.path(), {{"a", never}, {"a", never}});
                },
                ErrorCode::InvalidArgument),
            "");
  EXPECT_NE(error_of([&] { package("/nowhere/a.pt2", {{"a", never}}); }, ErrorCode::Io), "");
  package(file.path(), {{"plus", never}});
  const auto loaded = Package::load(file.path());
  EXPECT_NE(error_of([&] { loaded.function("minus"); }, ErrorCode::InvalidArgument), "");
  const auto plus = loaded.function("plus");
  auto outer = antegrad::compile([plus](const at::Tensor& x) { return plus(x).toTensor() * 2; });
  const auto inside = error_of([&] { outer(torch::zeros({2})); }, ErrorCode::UnsupportedOp);
  EXPECT_NE(inside.find("inside a function that is being captured"), inside.npos) << inside;
  const auto count =
      error_of([&] { plus(torch::zeros({2}), torch::zeros({2})); }, ErrorCode::InvalidArgument);
  EXPECT_NE(count.find("the structure of the arguments differs"), count.npos) << count;
  for (const size_t given : {0, 2}) {
    const auto tensors =
        error_of([&] { plus.call_tensors(std::vector<at::Tensor>(given, torch::zeros({2}))); },
                 ErrorCode::InvalidArgument);
    EXPECT_NE(tensors.find("the function takes 1"), tensors.npos) << tensors;
  }
}

/// Shows the tensor to the C API.
antegrad_tensor borrowed(const at::Tensor& tensor) {
  antegrad_tensor out{
      tensor.data_ptr(), tensor.nbytes(), ANTEGRAD_FLOAT32, static_cast<int32_t>(tensor.dim()), {}, nullptr};
  std::copy(tensor.sizes().begin(), tensor.sizes().end(), out.sizes);
  return out;
}

TEST(Package, IsCalledFromC) {
  const auto weight = torch::randn({3}).set_requires_grad(true);
  auto energy = antegrad::compile([weight](const at::Tensor& x) { return (torch::sin(x) * weight).sum(); });
  auto x = torch::randn({3}).set_requires_grad(true);
  energy(x).backward();
  PackageFile file;
  package(file.path(), {{"energy", energy}}, {.names = {{"weight", weight}}});
  antegrad_function* function = nullptr;
  ASSERT_EQ(antegrad_load_package(file.path().c_str(), "other", nullptr, &function),
            ANTEGRAD_ERROR_INVALID_ARGUMENT);
  ASSERT_EQ(antegrad_load_package(file.path().c_str(), nullptr, nullptr, &function), ANTEGRAD_OK)
      << antegrad_last_error();
  const auto plain = x.detach().clone();
  const auto input = borrowed(plain);
  auto value = torch::zeros({}), gradient = torch::zeros({3});
  auto value_out = borrowed(value), gradient_out = borrowed(gradient);
  ASSERT_EQ(antegrad_call(function, &input, 1, &value_out, 1), ANTEGRAD_OK) << antegrad_last_error();
  EXPECT_TRUE(torch::allclose(value, energy(x)));
  const size_t wanted[] = {0};
  ASSERT_EQ(antegrad_value_and_gradients(function, &input, 1, wanted, 1, &value_out, &gradient_out),
            ANTEGRAD_OK)
      << antegrad_last_error();
  EXPECT_TRUE(torch::allclose(gradient, x.grad()));
  const char* names[] = {"weight"};
  ASSERT_EQ(antegrad_value_and_state_gradients(function, &input, 1, names, 1, nullptr, &gradient_out),
            ANTEGRAD_OK)
      << antegrad_last_error();
  EXPECT_TRUE(torch::allclose(gradient, weight.grad()));
  const auto ones = torch::ones({3});
  const auto given = borrowed(ones);
  ASSERT_EQ(antegrad_state_set(function, "weight", &given), ANTEGRAD_OK) << antegrad_last_error();
  ASSERT_EQ(antegrad_call(function, &input, 1, &value_out, 1), ANTEGRAD_OK) << antegrad_last_error();
  EXPECT_TRUE(torch::allclose(value, torch::sin(x).sum()));
  antegrad_function_free(function);
}

}  // namespace
