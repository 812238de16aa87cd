// Kernels of packages as C, built by the system's compiler.
#include "antegrad/optim.h"
#include "package/archive.h"
#include "package_scene.h"

namespace {
using namespace antegrad;
using namespace antegrad::test;

/// A folder that is removed at the end.
class Folder {
 public:
  Folder()
      : path_(std::filesystem::temp_directory_path() / ("package_sources_" + std::to_string(::getpid()))) {}
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

/// Writes a package without its kernels.
void strip(const std::string& from, const std::string& to) {
  const packaging::Archive archive(from, "");
  auto manifest = archive.manifest();
  manifest.info.isas.clear();
  std::map<std::string, packaging::RecordToWrite> records;
  for (const auto& [name, digest] : archive.manifest().records)
    if (!name.starts_with("data/antegrad/kernels/")) records[name].bytes = std::string(archive.read(name));
  packaging::write_archive(to, std::move(manifest), std::move(records), "");
}

int build(const std::string& sources, const std::string& folder) {
  return std::system(("cmake -S '" + sources + "' -B '" + folder + "' >/dev/null && cmake --build '" +
                      folder + "' >/dev/null")
                         .c_str());
}

TEST(PackageSources, BuildTheKernelsOfThePackage) {
  torch::manual_seed(3);
  auto net = std::make_shared<SmallNet>();
  const auto x = torch::randn({5, 4}).set_requires_grad(true);
  auto compiled = antegrad::compile(net);
  run_with_gradients(compiled, x, net->parameters());
  torch::optim::AdamW optimizer(net->parameters(), torch::optim::AdamWOptions(0.01));
  StepOptions options;
  options.clip_norm = 0.1;
  const auto step = training_step([net](const at::Tensor& in) { return net->forward(in).pow(2).mean(); },
                                  optimizer, options);
  const auto y = x.detach();
  step(y);
  PackageFile file, bare("bare");
  package(file.path(), {{"net", compiled}, {"train", step}}, PackageOptions().name_weights(*net));
  Folder folder;
  Package::load(file.path()).write_sources(folder / "sources");
  ASSERT_EQ(build(folder / "sources", folder / "build"), 0);

  strip(file.path(), bare.path());
  const auto library = folder / "build/libkernels.so";
  const auto loaded = Package::load(bare.path(), {.strict = true, .kernel_library = library});
  for (int i = 0; i < 3; ++i) {
    const auto loss = loaded.step("train")(y).toTensor();
    EXPECT_TRUE(torch::allclose(loss, step(y), 1e-5, 1e-6)) << i;
    for (const auto& item : net->named_parameters())
      EXPECT_TRUE(torch::allclose(loaded.weight(item.key()), item.value(), 1e-5, 1e-6)) << item.key();
  }
  const auto got = run_with_gradients(tensor_function(loaded.function("net")), x, loaded.parameters());
  const auto now = run_with_gradients(compiled, x, net->parameters());
  EXPECT_TRUE(torch::allclose(got.value, now.value, 1e-5, 1e-6));
  for (size_t i = 0; i < got.gradients.size(); ++i)
    EXPECT_TRUE(torch::allclose(got.gradients[i], now.gradients[i], 1e-5, 1e-6)) << i;
  for (const auto& note : loaded.notes()) EXPECT_NE(note.find(library), note.npos) << note;
}

TEST(PackageSources, NeedKernels) {
  auto eager =
      antegrad::compile([](const at::Tensor& x) { return torch::tanh(x) * 2; }, {.backend = Backend::Eager});
  eager(torch::randn({7}));
  PackageFile file;
  package(file.path(), {{"f", eager}});
  Folder folder;
  const auto package = Package::load(file.path());
  EXPECT_NE(error_of([&] { package.write_sources(folder / "sources"); }, ErrorCode::InvalidArgument)
                .find("has no kernels"),
            std::string::npos);
}

TEST(PackageSources, LibrariesThatDoNotFitAreNotUsed) {
  auto one = antegrad::compile([](const at::Tensor& x) { return torch::tanh(x) * 2; });
  auto other = antegrad::compile([](const at::Tensor& x) { return torch::sin(x) + 3; });
  const auto x = torch::randn({7});
  one(x), other(x);
  PackageFile file, another("another");
  package(file.path(), {{"f", one}});
  package(another.path(), {{"f", other}});
  Folder folder;
  Package::load(another.path()).write_sources(folder / "sources");
  ASSERT_EQ(build(folder / "sources", folder / "build"), 0);
  const auto library = folder / "build/libkernels.so";
  const auto loaded = Package::load(file.path(), {.strict = true, .kernel_library = library});
  EXPECT_TRUE(torch::equal(loaded.function("f")(x).toTensor(), one(x)));
  EXPECT_NE(loaded.notes().at(0).find("of the file"), std::string::npos) << loaded.notes()[0];
  EXPECT_NE(error_of([&] { Package::load(file.path(), {.kernel_library = folder / "no.so"}); }, ErrorCode::Io)
                .find("cannot be opened"),
            std::string::npos);
  EXPECT_NE(error_of([&] { Package::load(file.path(), {.ir_only = true, .kernel_library = library}); },
                     ErrorCode::InvalidArgument)
                .find("both set"),
            std::string::npos);
}

}  // namespace
