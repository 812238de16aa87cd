#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>

#include "antegrad/error.h"
#include "toolchain/module.h"
#include "toolchain/toolchain.h"

namespace antegrad::toolchain {
namespace {

/// The object of source "n" is the byte n; "bad…" fails. Counts compilations.
class CountingToolchain final : public Toolchain {
 public:
  std::string name() const override { return "counting"; }
  Object compile(const std::string& source, const CodeTarget&) const override {
    ++compiled;
    if (source.starts_with("bad")) throw Error(ErrorCode::Compile, "test", source);
    return {{static_cast<uint8_t>(std::stoi(source))}, {source}};
  }
  mutable std::atomic<int> compiled = 0;
};

TEST(CompileAll, CompilesEqualSourcesOnce) {
  const CountingToolchain toolchain;
  const std::vector<std::string> sources = {"3", "1", "3", "3", "2", "1"};
  const auto objects = compile_all(toolchain, sources, Isa::Baseline);
  EXPECT_EQ(toolchain.compiled, 3);
  ASSERT_EQ(objects.size(), sources.size());
  for (size_t i = 0; i < sources.size(); ++i) EXPECT_EQ(objects[i].symbols.front(), sources[i]);
}

TEST(CompileAll, OfNothingIsNothing) {
  EXPECT_TRUE(compile_all(CountingToolchain(), {}, Isa::Baseline).empty());
}

TEST(CompileAll, ThrowsTheFirstErrorAfterAllAreDone) {
  const CountingToolchain toolchain;
  try {
    compile_all(toolchain, {"1", "bad one", "2", "bad two", "3", "4"}, Isa::Baseline);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "[test] bad one.");
  }
  EXPECT_EQ(toolchain.compiled, 6);
}

std::string source_of(int n) {
  return fmt::format(
      "long f{0}(const int* restrict x, long n) {{\n"
      "  long s = {0};\n"
      "  for (long i = 0; i < n; ++i) s += x[i] * {0} + (x[i] >> {1});\n"
      "  return s;\n"
      "}}\n",
      n, n % 5);
}

void expect_sixteen_right(const Toolchain& toolchain) {
  std::vector<std::string> sources;
  for (int i = 0; i < 16; ++i) sources.push_back(source_of(i % 12));
  const auto objects = compile_all(toolchain, sources, detect_isa());
  ASSERT_EQ(objects.size(), sources.size());
  std::vector<int> x(1000);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<int>(i * 37 % 501) - 250;
  for (int i = 0; i < 16; ++i) {
    const int n = i % 12;
    const auto module = Module::load(objects[i]);
    auto* f = reinterpret_cast<long (*)(const int*, long)>(module->find(fmt::format("f{}", n)));
    ASSERT_NE(f, nullptr) << n;
    long expected = n;
    for (const int v : x) expected += v * n + (v >> (n % 5));
    EXPECT_EQ(f(x.data(), 1000), expected) << n;
  }
}

TEST(CompileAll, SixteenSourcesWithClang) {
  if (!clang_unavailable().empty()) GTEST_SKIP() << "missing: clang, " << clang_unavailable();
  expect_sixteen_right(*clang_toolchain());
}

TEST(CompileAll, SixteenSourcesWithTheSystemCompiler) { expect_sixteen_right(*system_toolchain()); }

}  // namespace
}  // namespace antegrad::toolchain
