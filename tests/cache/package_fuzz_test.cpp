// Records of packages that were changed at random, behind checksums that fit: calls throw or return, and do
// nothing else.
#include <random>

#include "antegrad/optim.h"
#include "package/archive.h"
#include "package_scene.h"
#include "support/seeds.h"

namespace {
using namespace antegrad;
using namespace antegrad::test;

/// What a package has, and how its functions are called.
struct Subject {
  PackageFile file;
  std::function<void(const Package&)> use;
};

at::Tensor leaf(at::IntArrayRef sizes) { return torch::randn(sizes).set_requires_grad(true); }

/// A function of fixed sizes with gathered rows, a view that is returned, and second derivatives.
void make_fixed(Subject& subject) {
  const auto weight = leaf({6, 3});
  auto compiled = antegrad::compile([weight](const at::Tensor& x, const at::Tensor& rows) {
    const auto picked = weight.index_select(0, rows);
    return std::make_tuple((torch::tanh(x.mm(picked.t())) * 2).sum(), x.slice(0, 1, 3));
  });
  const auto rows = torch::tensor({0, 5, 2, 2});
  std::get<0>(compiled(leaf({4, 3}), rows)).backward();
  package(subject.file.path(), {{"f", compiled, 2}}, {.names = {{"weight", weight}}});
  subject.use = [rows](const Package& package) {
    const auto x = leaf({4, 3});
    const auto result = package.function("f")(x, rows).toTupleRef().elements()[0].toTensor();
    const auto gradient = torch::autograd::grad({result}, {x}, {}, true, true, true)[0];
    if (gradient.defined() && gradient.requires_grad()) gradient.pow(2).sum().backward();
  };
}

/// A function of any number of rows that writes to its argument and to a buffer.
void make_dynamic(Subject& subject) {
  const auto weight = leaf({4, 3});
  const auto buffer = torch::zeros({3});
  auto compiled = antegrad::compile(
      [weight, buffer](const at::Tensor& x, const at::Tensor& y) {
        const auto out = torch::softmax(x.mm(weight), 1);
        y.mul_(2);
        buffer.add_(out.detach().mean(0));
        return torch::cat({out, y}).sum();
      },
      {.dynamic_sizes = {antegrad::dynamic(0, 0, 2, 64)}});
  compiled(leaf({5, 4}), torch::ones({2, 3})).backward();
  package(subject.file.path(), {{"f", compiled}}, {.names = {{"weight", weight}, {"buffer", buffer}}});
  subject.use = [](const Package& package) {
    for (const int64_t rows : {5, 2, 33})
      package.function("f")(leaf({rows, 4}), torch::ones({2, 3})).toTensor().backward();
  };
}

/// Views of one tensor, and memory beyond one.
void make_views(Subject& subject) {
  auto compiled = antegrad::compile([](const at::Tensor& a, const at::Tensor& b, const at::Tensor& c) {
    a.mul_(2);
    return (a * b).sum() + c.as_strided({4}, {1}).sum();
  });
  const auto call = [](const auto& function) {
    const auto base = leaf({8}) * 1;
    const auto a = base.slice(0, 0, 4), b = base.slice(0, 4, 8);
    return function(a, b, torch::randn({6}).slice(0, 0, 2));
  };
  call(compiled).backward();
  package(subject.file.path(), {{"f", compiled}});
  subject.use = [call](const Package& package) { call(package.function("f")).toTensor().backward(); };
}

void make_step(Subject& subject) {
  auto net = std::make_shared<SmallNet>();
  torch::optim::AdamW optimizer(net->parameters(), torch::optim::AdamWOptions(0.01).amsgrad(true));
  StepOptions options;
  options.clip_norm = 0.5;
  options.average = std::make_shared<WeightAverage>();
  const auto step =
      training_step([net](const at::Tensor& x) { return net->forward(x).pow(2).mean(); }, optimizer, options);
  step(torch::randn({5, 4}));
  package(subject.file.path(), {{"train", step}}, PackageOptions().name_weights(*net));
  subject.use = [](const Package& package) {
    for (int i = 0; i < 2; ++i) package.step("train")(torch::randn({5, 4}));
  };
}

/// Changes bytes, or inserts or removes some.
void mutate(std::string& bytes, std::mt19937& random) {
  for (uint32_t k = 0; k <= random() % 3; ++k) {
    const auto at = random() % bytes.size();
    switch (random() % 6) {
      case 0:
        bytes.insert(at, 1, static_cast<char>(random()));
        break;
      case 1:
        bytes.erase(at, 1 + random() % 3);
        if (bytes.empty()) bytes = "x";
        break;
      case 2:  // a number a little off
        bytes[at] = static_cast<char>(bytes[at] + (random() % 2 == 0 ? 1 : -1));
        break;
      default:
        bytes[at] = static_cast<char>(random());
    }
  }
}

/// Returns how many of the changed packages were used to the end.
int use_changed(const Subject& subject, const std::string& suffix, int count, const PackageLoad& load,
                std::mt19937& random) {
  const packaging::Archive archive(subject.file.path(), "");
  std::vector<std::string> names;
  for (const auto& [name, digest] : archive.manifest().records)
    if (name.ends_with(suffix)) names.push_back(name);
  EXPECT_FALSE(names.empty()) << suffix;
  PackageFile changed("changed");
  int used = 0;
  for (int i = 0; i < count && !names.empty(); ++i) {
    std::map<std::string, packaging::RecordToWrite> records;
    for (const auto& [name, digest] : archive.manifest().records)
      records[name].bytes = std::string(archive.read(name));
    mutate(records.at(names[random() % names.size()]).bytes, random);
    packaging::write_archive(changed.path(), archive.manifest(), std::move(records), "");
    try {
      subject.use(Package::load(changed.path(), load));
      ++used;
    } catch (const std::exception&) {
    }
  }
  return used;
}

/// ANTEGRAD_PACKAGE_FUZZ: how many times as many changes as in the test suite.
int times() {
  const auto* given = std::getenv("ANTEGRAD_PACKAGE_FUZZ");
  return given == nullptr ? 1 : std::atoi(given);
}

void fuzz(void (*make)(Subject&), const std::string& suffix, int count, const PackageLoad& load) {
  test::manual_seed(11);
  Subject subject;
  make(subject);
  subject.use(Package::load(subject.file.path(), load));
  std::mt19937 random(static_cast<uint32_t>(12 + test_seed()));
  EXPECT_GT(use_changed(subject, suffix, count * times(), load, random), 0);
}

// The graphs of versions are compiled; with kernels of the file, only the rest of versions is used.
TEST(PackageFuzz, VersionsOfFixedSizes) { fuzz(make_fixed, "/version", 150, {}); }
TEST(PackageFuzz, VersionsOfDynamicSizes) { fuzz(make_dynamic, "/version", 150, {}); }
TEST(PackageFuzz, VersionsWithViews) { fuzz(make_views, "/version", 150, {}); }
TEST(PackageFuzz, Optimizers) { fuzz(make_step, "optimizer.json", 150, {}); }
TEST(PackageFuzz, GraphsOfFixedSizes) { fuzz(make_fixed, "/version", 60, {.ir_only = true}); }
TEST(PackageFuzz, GraphsOfDynamicSizes) { fuzz(make_dynamic, "/version", 60, {.ir_only = true}); }
TEST(PackageFuzz, GraphsWithViews) { fuzz(make_views, "/version", 60, {.ir_only = true}); }

}  // namespace
