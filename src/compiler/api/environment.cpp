#include "compiler/api/environment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <sstream>
#include <string_view>

#include "antegrad/error.h"
#include "antegrad/trace.h"
#include "cache/directory/local_store.h"
#include "compiler/api/option_names.h"
#include "runtime/onednn.h"

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
  bad_value(name, value, wanted);
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string or_variable(const std::string& given, const char* name) {
  return given.empty() ? variable(name) : given;
}

}  // namespace

cache::Settings settings_of(const CacheConfig& config) {
  cache::Settings settings;
  settings.local.directory = cache::default_directory(
      {or_variable(config.directory, "ANTEGRAD_CACHE_DIR"), variable("XDG_CACHE_HOME"), variable("HOME")});
  settings.local.limit_bytes = static_cast<uint64_t>(std::max<int64_t>(0, config.limit_bytes));
  settings.shared.directory = or_variable(config.shared_directory, "ANTEGRAD_CACHE_SHARED_DIR");
  settings.shared.write = config.write_shared;
  read_flag("ANTEGRAD_CACHE_SHARED_WRITE", settings.shared.write);
  settings.redis.url = or_variable(config.redis, "ANTEGRAD_CACHE_REDIS");
  settings.redis.write = config.write_redis;
  read_flag("ANTEGRAD_CACHE_REDIS_WRITE", settings.redis.write);
  settings.key_file = or_variable(config.key_file, "ANTEGRAD_CACHE_KEY_FILE");
  return settings;
}

namespace {

/// Starts a trace once, unless the program has started one itself. A trace that was stopped stays stopped.
void start_trace() {
  static std::once_flag once;
  std::call_once(once, [] {
    const auto directory = variable("ANTEGRAD_TRACE");
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
      bad_value("ANTEGRAD_MAX_VERSIONS", value, "a number from 1 to 1000000");
    options.max_versions = static_cast<int>(number);
  }
  read_choice("ANTEGRAD_CACHE", kCaches, "on, off or strict", options.cache);
  read_flag("ANTEGRAD_CHECK_RECAPTURE", options.check_recapture);
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
