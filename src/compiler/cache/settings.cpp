#include "compiler/cache/settings.h"

#include "cache/directory/local_store.h"
#include "util/environment.h"

namespace antegrad::compiler {
namespace {

std::string or_variable(const std::string& given, const char* name) {
  return given.empty() ? environment::variable(name) : given;
}

}  // namespace

cache::Settings with_environment(cache::Settings settings) {
  settings.local.directory =
      cache::default_directory({or_variable(settings.local.directory, "ANTEGRAD_CACHE_DIR"),
                                environment::variable("XDG_CACHE_HOME"), environment::variable("HOME")});
  settings.shared.directory = or_variable(settings.shared.directory, "ANTEGRAD_CACHE_SHARED_DIR");
  environment::read_flag("ANTEGRAD_CACHE_SHARED_WRITE", settings.shared.write);
  settings.redis.url = or_variable(settings.redis.url, "ANTEGRAD_CACHE_REDIS");
  environment::read_flag("ANTEGRAD_CACHE_REDIS_WRITE", settings.redis.write);
  settings.key_file = or_variable(settings.key_file, "ANTEGRAD_CACHE_KEY_FILE");
  return settings;
}

}  // namespace antegrad::compiler
