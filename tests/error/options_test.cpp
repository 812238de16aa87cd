// Invalid options and environment variables, and the headings of all error codes in the docs.
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "error/expect_error.h"

namespace antegrad::test {
namespace {

using at::Tensor;

class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  ~Variable() { ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

auto compile_something(Options options = {}) {
  return compile([](const Tensor& a) { return a + 1; }, std::move(options));
}

void expect_bad_value(const char* name, const char* value, const std::string& fact) {
  Variable variable(name, value);
  expect_error(ErrorCode::InvalidArgument, "options", std::string(name) + "=" + value + " is not " + fact, {},
               [] { compile_something(); });
}

TEST(InvalidArgument, EnvironmentVariables) {
  expect_bad_value("ANTEGRAD_UNSUPPORTED", "maybe", "error, eager or break");
  expect_bad_value("ANTEGRAD_BACKEND", "fast", "eager, nofuse or default");
  expect_bad_value("ANTEGRAD_TOOLCHAIN", "gcc", "auto, clang or system");
  expect_bad_value("ANTEGRAD_ISA", "sse9", "auto, baseline, avx2 or avx512");
  expect_bad_value("ANTEGRAD_DYNAMIC", "some", "auto, all or none");
  expect_bad_value("ANTEGRAD_COMPILE_FAILURE", "", "error or eager");
  expect_bad_value("ANTEGRAD_COMPILE", "later", "blocking or background");
  expect_bad_value("ANTEGRAD_DEBUG_COMPARE", "2", "0 or 1");
  expect_bad_value("ANTEGRAD_CHECK_RECAPTURE", "yes", "0 or 1");
  expect_bad_value("ANTEGRAD_VERIFY", "", "0 or 1");
  for (const char* value : {"0", "-3", "many", "7x", "", "99999999999999999999"})
    expect_bad_value("ANTEGRAD_MAX_VERSIONS", value, "a number from 1 to 1000000");
}

TEST(InvalidArgument, GoodValuesOverrideOptions) {
  Variable versions("ANTEGRAD_MAX_VERSIONS", "1");
  auto compiled = compile_something();
  compiled(torch::randn({1}));
  compiled(torch::randn({2}));
  EXPECT_EQ(compiled.report().dropped_versions, 1u);
  Variable eager("ANTEGRAD_UNSUPPORTED", "eager");
  auto reads = compile([](const Tensor& a) { return a * a.sum().item<float>(); });
  auto x = torch::randn({3});
  EXPECT_TRUE(at::equal(reads(x), x * x.sum().item<float>()));
  Variable check("ANTEGRAD_CHECK_RECAPTURE", "1");
  Variable verify("ANTEGRAD_VERIFY", "1");
  double factor = 2;
  auto scaled = compile([&](const Tensor& a) { return a * factor; });
  scaled(x);
  factor = 3;
  EXPECT_THROW(scaled(x), Error);
}

TEST(UnknownPass, InOptionsAndEnvironment) {
  Options options;
  options.disabled_passes = {"dead_code", "dead_cod"};
  expect_error(ErrorCode::UnknownPass, "passes", "there is no pass named \"dead_cod\"", {},
               [&] { compile_something(options); });
  Variable variable("ANTEGRAD_DISABLE_PASSES", "dead_code,no_such");
  expect_error(ErrorCode::UnknownPass, "passes", "there is no pass named \"no_such\"", {},
               [&] { compile_something(); });
}

TEST(UnknownPass, KnownNamesLeaveThePassOut) {
  auto twice = [](const Tensor& a) { return a.sin() + a.sin(); };
  Options options;
  options.disabled_passes = {"common_subexpressions"};
  auto with = compile(twice);
  auto without = compile(twice, options);
  auto x = torch::randn({3});
  EXPECT_TRUE(at::equal(with(x), without(x)));
  EXPECT_EQ(with.report().nodes + 1, without.report().nodes) << without.graph();
}

TEST(Codes, EachHasItsHeadingInTheDocs) {
  std::ifstream file(ANTEGRAD_SOURCE_DIR "/docs/errors.md");
  std::stringstream docs;
  docs << file.rdbuf();
  for (int code = 0; code <= static_cast<int>(ErrorCode::Io); ++code) {
    const auto name = std::string(error_code_name(static_cast<ErrorCode>(code)));
    EXPECT_NE(docs.str().find("\n## " + name + "\n"), std::string::npos) << name;
  }
}

}  // namespace
}  // namespace antegrad::test
