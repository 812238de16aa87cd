#include "compiler/api/environment.h"

#include <cstdlib>
#include <mutex>
#include <sstream>

#include "antegrad/error.h"
#include "antegrad/trace.h"
#include "compiler/api/option_names.h"
#include "runtime/onednn.h"
#include "util/environment.h"

namespace antegrad::compiler {
namespace {

using environment::read_flag;

/// `wanted` lists the choices for the error text.
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
  environment::reject(name, value, wanted);
}

/// Starts a trace once, unless the program has started one itself. A trace that was stopped stays stopped.
void start_trace() {
  static std::once_flag once;
  std::call_once(once, [] {
    const auto directory = environment::variable("ANTEGRAD_TRACE");
    if (!directory.empty() && trace::file().empty()) trace::start(directory);
  });
}

void choose_matmul() {
  using runtime::onednn::Use;
  static constexpr Named<Use> kUses[] = {
      {"auto", Use::Auto}, {"libtorch", Use::Never}, {"onednn", Use::Always}};
  auto use = Use::Auto;
  read_choice("ANTEGRAD_MATMUL", kUses, "auto, libtorch or onednn", use);
  runtime::onednn::set_use(use);
}

}  // namespace

Options with_environment(Options options) {
  start_trace();
  choose_matmul();
  read_choice("ANTEGRAD_UNSUPPORTED", kUnsupported, "error, eager or break", options.unsupported);
  read_choice("ANTEGRAD_DYNAMIC", kDynamic, "auto, all or none", options.dynamic);
  read_choice("ANTEGRAD_BACKEND", kBackends, "eager, nofuse or default", options.backend);
  read_choice("ANTEGRAD_TOOLCHAIN", kToolchains, "auto, clang or system", options.toolchain);
  read_choice("ANTEGRAD_ISA", kIsas, "auto, baseline, avx2 or avx512", options.isa);
  read_choice("ANTEGRAD_COMPILE", kCompile, "blocking or background", options.compile);
  read_choice("ANTEGRAD_COMPILE_FAILURE", kCompileFailures, "error or eager", options.compile_failure);
  if (const char* value = std::getenv("ANTEGRAD_MAX_VERSIONS")) {
    char* end = nullptr;
    const long number = std::strtol(value, &end, 10);
    if (*value == '\0' || *end != '\0' || number < 1 || number > 1'000'000)
      environment::reject("ANTEGRAD_MAX_VERSIONS", value, "a number from 1 to 1000000");
    options.max_versions = static_cast<int>(number);
  }
  read_choice("ANTEGRAD_CACHE", kCaches, "on, off or strict", options.cache);
  read_flag("ANTEGRAD_CHECK_RECAPTURE", options.check_recapture);
  read_flag("ANTEGRAD_COMPILE_ALL_SIZES", options.compile_all_sizes);
  read_flag("ANTEGRAD_VERIFY", options.verify);
  read_flag("ANTEGRAD_WRITABLE_INPUTS", options.writable_inputs);
  read_flag("ANTEGRAD_DEBUG_COMPARE", options.debug_compare);
  read_flag("ANTEGRAD_CUDA_KERNELS", options.cuda_kernels);
  if (const char* value = std::getenv("ANTEGRAD_DISABLE_PASSES")) {
    std::istringstream list(value);
    for (std::string name; std::getline(list, name, ',');)
      if (!name.empty()) options.disabled_passes.push_back(name);
  }
  return options;
}

}  // namespace antegrad::compiler
