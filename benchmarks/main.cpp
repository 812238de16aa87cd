#include "main.h"

#include <cerrno>
#include <cstdio>
#include <exception>
#include <map>
#include <string>

namespace antegrad::benchmarks {
namespace {

using Run = int (*)(int argc, char** argv);

/// Static initialisers fill this map before main().
std::map<std::string, Run>& programs() {
  static auto& all = *new std::map<std::string, Run>;
  return all;
}

int run_called(int argc, char** argv) {
  const auto found = programs().find(program_invocation_short_name);
  if (found != programs().end()) return found->second(argc, argv);
  std::fprintf(stderr, "call it by one of its names:");
  for (const auto& [name, run] : programs()) std::fprintf(stderr, " %s", name.c_str());
  std::fprintf(stderr, "\n");
  return 2;
}

}  // namespace

NamedProgram::NamedProgram(const char* name, Run run) { programs()[name] = run; }

}  // namespace antegrad::benchmarks

int main(int argc, char** argv) {
  try {
    return antegrad::benchmarks::run_called(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", program_invocation_short_name, error.what());
    return 1;
  }
}
