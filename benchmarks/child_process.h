#pragma once
// For benchmarks that run themselves once per measurement: the child prints "field number" lines.
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>

namespace antegrad::benchmarks {

using Fields = std::map<std::string, double>;

inline void print_field(const char* field, double value) { std::printf("%s %.17g\n", field, value); }

/// Runs this program with other arguments and returns the fields that it prints. `environment` is "NAME=value
/// …". The child is started under the same name, which selects the program (main.h).
inline Fields run_self(const std::string& arguments, const std::string& environment = {}) {
  const auto program =
      std::filesystem::read_symlink("/proc/self/exe").replace_filename(program_invocation_short_name);
  const auto command = environment + " '" + program.string() + "' " + arguments;
  auto* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("cannot start " + command);
  Fields fields;
  char field[64];
  double value = 0;
  while (std::fscanf(pipe, "%63s %lf", field, &value) == 2) fields[field] = value;
  if (pclose(pipe) != 0) throw std::runtime_error("failed: " + command);
  return fields;
}

}  // namespace antegrad::benchmarks
