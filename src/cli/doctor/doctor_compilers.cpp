#include <fmt/format.h>

#include <chrono>
#include <filesystem>

#include "antegrad/error.h"
#include "cli/doctor/doctor.h"
#include "cli/elapsed.h"
#include "cli/environment.h"
#include "cli/text.h"
#include "toolchain/clang_plugin.h"
#include "toolchain/module.h"
#include "toolchain/toolchain.h"

namespace antegrad::cli {
namespace {

constexpr const char* kSource =
    "void antegrad_doctor(float* x, long n) {\n"
    "  for (long i = 0; i < n; ++i) x[i] = x[i] * 2.0f + 1.0f;\n"
    "}\n";
using Trial = void (*)(float*, long);

/// The result of compiling a tiny kernel.
struct Outcome {
  std::string problem;  ///< "" when it compiled, loaded and ran with the right result
  double compile = 0, load = 0, run = 0;
};

Outcome try_compiler(const toolchain::Toolchain& compiler) try {
  constexpr long kLength = 1000;
  Outcome out;
  auto start = std::chrono::steady_clock::now();
  const auto object = compiler.compile(kSource, toolchain::detect_isa());
  out.compile = seconds_since(start);
  start = std::chrono::steady_clock::now();
  const auto module = toolchain::Module::load(object);
  out.load = seconds_since(start);
  const auto function = reinterpret_cast<Trial>(module->find("antegrad_doctor"));
  if (function == nullptr) return {.problem = "the object that it made has no function"};
  std::vector<float> values(kLength);
  for (long i = 0; i < kLength; ++i) values[i] = static_cast<float>(i);
  start = std::chrono::steady_clock::now();
  function(values.data(), kLength);
  out.run = seconds_since(start);
  for (long i = 0; i < kLength; ++i)
    if (values[i] != static_cast<float>(2 * i + 1))
      return {.problem = fmt::format("a tiny kernel computes {} where {} is right", values[i], 2 * i + 1)};
  return out;
} catch (const Error& error) {
  return {.problem = first_line(error.what())};
}

std::string times_text(const Outcome& outcome) {
  return fmt::format("compiled in {}, loaded in {}, runs in {}", time_text(outcome.compile),
                     time_text(outcome.load), time_text(outcome.run));
}

Findings::Values values_of(const Outcome& outcome) {
  if (!outcome.problem.empty()) return {{"works", false}};
  return {{"works", true}, {"compile_s", outcome.compile}, {"load_s", outcome.load}, {"run_s", outcome.run}};
}

constexpr const char* kInstallClang =
    "Install clang 19's library (libclang-cpp19), or name the plugin in ANTEGRAD_CLANG_PLUGIN";
constexpr const char* kInstallCompiler = "Install a C compiler (gcc), or name one in ANTEGRAD_CC";

/// Returns whether it works.
bool check_clang(Findings& out, bool wanted) {
  const auto path = toolchain::clang_plugin_path();
  std::error_code ignored;
  const auto complain = [&](const std::string& fact, Findings::Values values) {
    values["path"] = path;
    if (wanted)
      out.problem("clang plugin", fact, kInstallClang, std::move(values));
    else
      out.warn("clang plugin", fact, kInstallClang, std::move(values));
    return false;
  };
  if (!std::filesystem::exists(path, ignored))
    return complain(fmt::format("{} is not there", path), {{"works", false}});
  if (const auto problem = toolchain::clang_unavailable(); !problem.empty())
    return complain(fmt::format("cannot be opened: {}", first_line(problem)), {{"works", false}});
  const auto outcome = try_compiler(*toolchain::clang_toolchain());
  if (!outcome.problem.empty()) return complain(outcome.problem, values_of(outcome));
  auto values = values_of(outcome);
  values["path"] = path;
  values["version"] = toolchain::clang_plugin_version();
  out.ok("clang plugin", fmt::format("clang {} in {}", toolchain::clang_plugin_version(), path), values);
  out.ok("tiny kernel", times_text(outcome));
  return true;
}

bool check_system_compiler(Findings& out, bool wanted) {
  const auto compiler = toolchain::system_toolchain();
  std::string name, problem;
  try {
    name = compiler->name();
  } catch (const Error& error) {
    problem = first_line(error.what());
  }
  const auto outcome = problem.empty() ? try_compiler(*compiler) : Outcome{.problem = problem};
  auto values = values_of(outcome);
  if (!outcome.problem.empty()) {
    if (wanted)
      out.problem("system compiler", outcome.problem, kInstallCompiler, values);
    else
      out.warn("system compiler", outcome.problem, kInstallCompiler, values);
    return false;
  }
  values["version"] = name;
  out.ok("system compiler", name, values);
  out.ok("tiny kernel", times_text(outcome));
  return true;
}

}  // namespace

void check_compilers(Findings& out) {
  const auto choice = environment("ANTEGRAD_TOOLCHAIN");
  const bool clang_named = !environment("ANTEGRAD_CLANG_PLUGIN").empty();
  const bool compiler_named = !environment("ANTEGRAD_CC").empty();
  const bool clang = check_clang(out, choice == "clang" || clang_named);
  const bool system = check_system_compiler(out, choice == "system" || compiler_named || !clang);
  const bool use_system = choice == "system" || (choice != "clang" && !clang);
  if (use_system ? system : clang)
    out.ok("kernels",
           fmt::format("are compiled by {}", use_system ? "the system compiler" : "the clang plugin"),
           {{"compiler", use_system ? "system" : "clang"}});
  else
    out.problem("kernels", "cannot be compiled on this machine",
                "Install one of both compilers, or load what was compiled elsewhere from a cache");
}

}  // namespace antegrad::cli
