// Both toolchains: code of every kind compiles, loads and runs; errors say why a source does not compile.
#include "toolchain/toolchain.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "antegrad/error.h"
#include "toolchain/module.h"
#include "util/process.h"

namespace antegrad::toolchain {
namespace {

struct Case {
  std::string toolchain;
  Isa isa;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const char* toolchain : {"clang", "system"}) {
    for (const auto isa : runnable_isas()) all.push_back({toolchain, isa});
  }
  return all;
}

std::string case_name(const ::testing::TestParamInfo<Case>& info) {
  return info.param.toolchain + "_" + std::string(isa_name(info.param.isa));
}

class Toolchains : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (GetParam().toolchain == "clang" && !clang_unavailable().empty()) {
      GTEST_SKIP() << "missing: clang, " << clang_unavailable();
    }
  }

  Object compile(const std::string& source) const { return toolchain()->compile(source, GetParam().isa); }

  ToolchainPtr toolchain() const {
    return GetParam().toolchain == "clang" ? clang_toolchain() : system_toolchain();
  }

  template <class Function>
  Function* function(const std::string& source, const char* name) {
    module_ = Module::load(compile(source));
    return reinterpret_cast<Function*>(module_->find(name));
  }

 private:
  std::shared_ptr<const Module> module_;
};

INSTANTIATE_TEST_SUITE_P(All, Toolchains, ::testing::ValuesIn(cases()), case_name);

TEST_P(Toolchains, PointwiseLoop) {
  auto* f = function<int64_t(void* const*, const int64_t*, int64_t, int64_t)>(
      "long k(void* const* buffers, const long* dims, long begin, long end) {\n"
      "  const float* restrict a = buffers[0];\n"
      "  float* restrict out = buffers[1];\n"
      "  for (long i = begin; i < end; ++i) out[i] = a[i] * 2.5f + 1.0f / (1.0f + a[i] * a[i]);\n"
      "  return end - begin;\n"
      "}\n",
      "k");
  ASSERT_NE(f, nullptr);
  std::vector<float> a(1003), out(a.size(), -1.f);
  std::iota(a.begin(), a.end(), -500.f);
  void* buffers[] = {a.data(), out.data()};
  EXPECT_EQ(f(buffers, nullptr, 1, 1001), 1000);
  EXPECT_EQ(out.front(), -1.f);
  EXPECT_EQ(out[1001], -1.f);
  for (size_t i = 1; i < 1001; ++i) ASSERT_EQ(out[i], a[i] * 2.5f + 1.0f / (1.0f + a[i] * a[i])) << i;
}

TEST_P(Toolchains, RowSumKeepsTheOrderOfAdditionsUnlessTold) {
  auto* f = function<void(const float*, float*, int64_t, int64_t)>(
      "void rows(const float* restrict x, float* restrict out, long n, long m) {\n"
      "  for (long i = 0; i < n; ++i) {\n"
      "    float s = 0;\n"
      "    for (long j = 0; j < m; ++j) s += x[i * m + j];\n"
      "    out[i] = s;\n"
      "  }\n"
      "}\n",
      "rows");
  constexpr int64_t n = 7, m = 131;
  std::vector<float> x(n * m), out(n);
  for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i)) * 1e3f;
  f(x.data(), out.data(), n, m);
  for (int64_t i = 0; i < n; ++i) {
    volatile float sum = 0;
    for (int64_t j = 0; j < m; ++j) sum = sum + x[i * m + j];
    EXPECT_EQ(out[i], sum) << i;
  }
}

TEST_P(Toolchains, DoesNotContractAndKeepsSpecialValues) {
  auto* f = function<void(const float*, float*)>(
      "void special(const float* restrict x, float* restrict out) {\n"
      "  for (int i = 0; i < 32; ++i) out[i] = x[i] * x[i] - 1.0f;\n"
      "  out[32] = x[0] != x[0];\n"
      "  out[33] = x[1] - x[1];\n"
      "}\n",
      "special");
  std::vector<float> x(34, 1.0000001f), out(34);
  x[0] = std::nanf("");
  x[1] = INFINITY;
  f(x.data(), out.data());
  volatile float square = x[2] * x[2];
  for (int i = 2; i < 32; ++i) ASSERT_EQ(out[i], square - 1.0f) << i;
  EXPECT_TRUE(std::isnan(out[0]));
  EXPECT_EQ(out[1], INFINITY);
  EXPECT_EQ(out[32], 1.f);
  EXPECT_TRUE(std::isnan(out[33]));
}

TEST_P(Toolchains, CallsTheCLibrary) {
  auto* f = function<void(float*, const float*, int64_t)>(
      "float expf(float); double lgamma(double);\n"
      "void* memset(void*, int, unsigned long);\n"
      "void library(float* out, const float* x, long n) {\n"
      "  memset(out, 0, 2 * n * sizeof(float));\n"
      "  for (long i = 0; i < n; ++i) out[i] = expf(x[i]);\n"
      "  out[n] = (float)lgamma(x[1]);\n"
      "}\n",
      "library");
  std::vector<float> x = {0.5f, 4.5f, -3.f, 20.f}, out(8, 7.f);
  f(out.data(), x.data(), 4);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(out[i], std::exp(x[i])) << i;
  EXPECT_EQ(out[4], static_cast<float>(std::lgamma(4.5)));
  EXPECT_EQ(out[7], 0.f);
}

TEST_P(Toolchains, TakesTheAddressOfALibraryFunction) {
  auto* f = function<double(int, double)>(
      "double exp(double); double sin(double);\n"
      "static double (*const table[])(double) = {exp, sin};\n"
      "double (*chosen)(double) = exp;\n"
      "double pick(int i, double x) { return table[i](x) + chosen(x); }\n",
      "pick");
  EXPECT_EQ(f(1, 0.25), std::sin(0.25) + std::exp(0.25));
}

TEST_P(Toolchains, ConstantsTablesAndVariables) {
  auto* f = function<int64_t(int64_t)>(
      "static const long squares[] = {0, 1, 4, 9, 16, 25, 36, 49};\n"
      "static const char* const words[] = {\"zero\", \"one\", \"three\"};\n"
      "static long calls;\n"
      "long exported = 1000;\n"
      "static long zeros[3000];\n"
      "long lookup(long i) {\n"
      "  ++calls;\n"
      "  zeros[2999] += 2;\n"
      "  return squares[i & 7] + words[i % 3][0] + calls * exported + zeros[2999] + zeros[5];\n"
      "}\n",
      "lookup");
  EXPECT_EQ(f(3), 9 + 'z' + 1000 + 2);
  EXPECT_EQ(f(5), 25 + 't' + 2000 + 4);
}

TEST_P(Toolchains, JumpTables) {
  auto* f = function<int64_t(int64_t, int64_t)>(
      "long helper(long x);\n"
      "long jump(long op, long x) {\n"
      "  switch (op) {\n"
      "    case 0: return helper(x);\n"
      "    case 1: return x * x;\n"
      "    case 2: return x / 3;\n"
      "    case 3: return x << 5;\n"
      "    case 4: return ~x;\n"
      "    case 5: return x % 7;\n"
      "    case 6: return helper(x * 2) + 1;\n"
      "    default: return -1;\n"
      "  }\n"
      "}\n"
      "__attribute__((noinline)) long helper(long x) { return x + 100; }\n",
      "jump");
  const int64_t expected[] = {110, 100, 3, 320, ~int64_t{10}, 3, 121, -1};
  for (int64_t op = 0; op < 8; ++op) EXPECT_EQ(f(op, 10), expected[op]) << op;
}

TEST_P(Toolchains, NamesTheFunctionsThatItDefines) {
  const auto object = compile(
      "static __attribute__((noinline)) int hidden(int x) { return x * 3; }\n"
      "float expf(float); int variable = 3;\n"
      "int first(int x) { return hidden(x); }\n"
      "float second(float x) { return expf(x) + variable; }\n");
  EXPECT_EQ(object.symbols, (std::vector<std::string>{"first", "second"}));
  const auto module = Module::load(object);
  EXPECT_NE(module->find("second"), nullptr);
  EXPECT_EQ(module->find("hidden"), nullptr);
  EXPECT_EQ(module->find("variable"), nullptr);
  EXPECT_EQ(module->find("expf"), nullptr);
}

TEST_P(Toolchains, EqualSourcesGiveEqualBytes) {
  const std::string source =
      "void f(float* x, long n) { for (long i = 0; i < n; ++i) x[i] = x[i] * x[i]; }\n";
  EXPECT_EQ(compile(source).bytes, compile(source).bytes);
}

TEST_P(Toolchains, ErrorsCarryCommandDiagnosticsAndSource) {
  std::string source = "/* the first line */\n";
  for (int i = 0; i < 20; ++i) source += "int f" + std::to_string(i) + "(void);\n";
  source += "int broken(int x) { return undeclared_name + x; }\n";
  try {
    compile(source);
    FAIL() << "no error";
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_EQ(error.code(), ErrorCode::Compile);
    EXPECT_TRUE(text.starts_with("[toolchain] " + toolchain()->name() + " does not compile")) << text;
    for (const char* part : {"kernel.c:22:", "undeclared_name", ">   22 | int broken", "    20 | int f18",
                             "command: ", "-O3", "     1 | /* the first line */"}) {
      EXPECT_NE(text.find(part), std::string::npos) << part << " is not in:\n" << text;
    }
  }
}

TEST_P(Toolchains, WarningsAreNoErrors) {
  EXPECT_EQ(compile("int f(int x) { int unused; if (x = 3) return 1; }\n").symbols.size(), 1u);
}

TEST(Clang, NamesItsVersionAndIsTheDefaultWhereItOpens) {
  EXPECT_TRUE(clang_toolchain()->name().starts_with("clang-19")) << clang_toolchain()->name();
  const bool opens = clang_unavailable().empty();
  EXPECT_EQ(default_toolchain()->name(), opens ? clang_toolchain()->name() : system_toolchain()->name());
}

TEST(Clang, WithoutItsPluginSaysWhy) {
  // The plugin is opened once per process, so this test runs in another one.
  const auto program = std::filesystem::canonical("/proc/self/exe").string();
  const auto result =
      run_process({"env", "ANTEGRAD_CLANG_PLUGIN=/nowhere/libantegrad_clang.so", program,
                   "--gtest_also_run_disabled_tests", "--gtest_filter=Clang.DISABLED_MissingPlugin"});
  EXPECT_EQ(result.status, 0) << result.output;
  EXPECT_NE(result.output.find("[  PASSED  ] 1 test"), std::string::npos) << result.output;
}

// Run by the test above.
TEST(Clang, DISABLED_MissingPlugin) {
  EXPECT_NE(clang_unavailable().find("/nowhere/libantegrad_clang.so"), std::string::npos)
      << clang_unavailable();
  EXPECT_TRUE(default_toolchain()->name().starts_with("cc-")) << default_toolchain()->name();
  try {
    clang_toolchain()->compile("int x;", Isa::Baseline);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Compile);
    EXPECT_NE(std::string(error.what()).find("ANTEGRAD_CLANG_PLUGIN"), std::string::npos) << error.what();
  }
}

TEST(System, ACompilerThatDoesNotRunIsNamed) {
  try {
    system_toolchain("no-such-compiler")->compile("int x;", Isa::Baseline);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Compile);
    const std::string text = error.what();
    EXPECT_NE(text.find("\"no-such-compiler\" does not run"), std::string::npos) << text;
    EXPECT_NE(text.find("ANTEGRAD_CC"), std::string::npos) << text;
  }
}

TEST(System, LeavesNoFiles) {
  const TemporaryFolder folder;
  const std::string before = std::getenv("TMPDIR") ? std::getenv("TMPDIR") : "";
  setenv("TMPDIR", folder.path().c_str(), 1);
  EXPECT_NO_THROW(system_toolchain()->compile("int f(void) { return 1; }", Isa::Baseline));
  EXPECT_THROW(system_toolchain()->compile("int f(void) { return", Isa::Baseline), Error);
  before.empty() ? unsetenv("TMPDIR") : setenv("TMPDIR", before.c_str(), 1);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(Process, HasNoInputAndGivesOutputAndStatus) {
  const auto result = run_process({"sh", "-c", "cat; echo out; echo err >&2; exit 3"});
  EXPECT_EQ(result.status, 3);
  EXPECT_EQ(result.output, "out\nerr\n");
  EXPECT_EQ(run_process({"sh", "-c", "kill -9 $$"}).status, 128 + 9);
  EXPECT_EQ(run_process({"echo", "a  b", "$HOME;'\"*"}).output, "a  b $HOME;'\"*\n");
}

TEST(Isas, NamesAreReadBack) {
  for (const auto isa : {Isa::Baseline, Isa::Avx2, Isa::Avx512}) EXPECT_EQ(isa_from_name(isa_name(isa)), isa);
  EXPECT_EQ(isa_from_name("avx"), std::nullopt);
}

TEST(Isas, TheDetectedOneIsWhatTheKernelReports) {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line) && !line.starts_with("flags")) {
  }
  if (line.empty()) GTEST_SKIP() << "/proc/cpuinfo has no flags";
  line += " ";
  const auto has = [&](const std::string& flag) { return line.find(" " + flag + " ") != std::string::npos; };
  const bool avx2 = has("avx2") && has("fma") && has("f16c") && has("bmi1") && has("bmi2") && has("movbe");
  const bool avx512 =
      has("avx512f") && has("avx512dq") && has("avx512cd") && has("avx512bw") && has("avx512vl");
  EXPECT_EQ(detect_isa(), avx2 ? (avx512 ? Isa::Avx512 : Isa::Avx2) : Isa::Baseline) << line;
}

}  // namespace
}  // namespace antegrad::toolchain
