#pragma once
// For benchmarks that run themselves once per measurement: the child prints "field number" lines.
#include <stdlib.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>
#include <system_error>

namespace antegrad::benchmarks {

/// Is removed with all that is in it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    auto name = (std::filesystem::temp_directory_path() / "antegrad-bench-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make " + name);
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

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
