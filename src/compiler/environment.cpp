#include "compiler/environment.h"

#include <fmt/format.h>

#include <cstdlib>
#include <sstream>
#include <string_view>

#include "antegrad/error.h"

namespace antegrad::compiler {
namespace {

[[noreturn]] void bad_value(const char* name, std::string_view value, const char* wanted) {
  throw Error(ErrorCode::InvalidArgument, "options", fmt::format("{}={} is not {}", name, value, wanted),
              "Correct the environment variable or unset it");
}

void read_flag(const char* name, bool& field) {
  const char* value = std::getenv(name);
  if (value == nullptr) return;
  const std::string_view text(value);
  if (text == "1")
    field = true;
  else if (text == "0")
    field = false;
  else
    bad_value(name, text, "0 or 1");
}

template <class Choice>
struct Named {
  std::string_view name;
  Choice choice;
};

/// The choices are listed in `wanted`, as people write lists.
template <class Choice, size_t kCount>
void read_choice(const char* name, const Named<Choice> (&choices)[kCount], const char* wanted,
                 Choice& field) {
  const char* value = std::getenv(name);
  if (value == nullptr) return;
  for (const auto& [text, choice] : choices) {
    if (text != value) continue;
    field = choice;
    return;
  }
  bad_value(name, value, wanted);
}

constexpr Named<Unsupported> kUnsupported[] = {{"error", Unsupported::Error}, {"eager", Unsupported::Eager}};
constexpr Named<Dynamic> kDynamic[] = {
    {"auto", Dynamic::Auto}, {"all", Dynamic::All}, {"none", Dynamic::None}};
constexpr Named<Backend> kBackends[] = {
    {"eager", Backend::Eager}, {"nofuse", Backend::NoFuse}, {"default", Backend::Default}};
constexpr Named<ToolchainChoice> kToolchains[] = {
    {"auto", ToolchainChoice::Auto}, {"clang", ToolchainChoice::Clang}, {"system", ToolchainChoice::System}};
constexpr Named<Isa> kIsas[] = {
    {"auto", Isa::Auto}, {"baseline", Isa::Baseline}, {"avx2", Isa::Avx2}, {"avx512", Isa::Avx512}};
constexpr Named<CompileFailure> kCompileFailures[] = {{"error", CompileFailure::Error},
                                                      {"eager", CompileFailure::Eager}};

}  // namespace

Options with_environment(Options options) {
  read_choice("ANTEGRAD_UNSUPPORTED", kUnsupported, "error or eager", options.unsupported);
  read_choice("ANTEGRAD_DYNAMIC", kDynamic, "auto, all or none", options.dynamic);
  read_choice("ANTEGRAD_BACKEND", kBackends, "eager, nofuse or default", options.backend);
  read_choice("ANTEGRAD_TOOLCHAIN", kToolchains, "auto, clang or system", options.toolchain);
  read_choice("ANTEGRAD_ISA", kIsas, "auto, baseline, avx2 or avx512", options.isa);
  read_choice("ANTEGRAD_COMPILE_FAILURE", kCompileFailures, "error or eager", options.compile_failure);
  if (const char* value = std::getenv("ANTEGRAD_MAX_VERSIONS")) {
    char* end = nullptr;
    const long number = std::strtol(value, &end, 10);
    if (*value == '\0' || *end != '\0' || number < 1 || number > 1'000'000)
      bad_value("ANTEGRAD_MAX_VERSIONS", value, "a number from 1 to 1000000");
    options.max_versions = static_cast<int>(number);
  }
  read_flag("ANTEGRAD_CHECK_RECAPTURE", options.check_recapture);
  read_flag("ANTEGRAD_VERIFY", options.verify);
  read_flag("ANTEGRAD_WRITABLE_INPUTS", options.writable_inputs);
  read_flag("ANTEGRAD_DEBUG_COMPARE", options.debug_compare);
  if (const char* value = std::getenv("ANTEGRAD_DISABLE_PASSES")) {
    std::istringstream list(value);
    for (std::string name; std::getline(list, name, ',');)
      if (!name.empty()) options.disabled_passes.push_back(name);
  }
  return options;
}

}  // namespace antegrad::compiler
