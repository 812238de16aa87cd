#pragma once
#include <string>
#include <vector>

namespace antegrad::cli {

struct PrintOptions {
  std::string file;
  bool compact = false;
};

struct OptOptions {
  std::string file;
  std::vector<std::string> passes;  ///< by name; empty: the pipeline
  std::string pipeline;             ///< "default"
  std::vector<std::string> disabled;
  bool verify = false;
  bool timing = false;
};

/// Each returns what goes to standard output and throws Error when it cannot. The file "-" is standard input.
std::string run_print(const PrintOptions& options);
std::string run_opt(const OptOptions& options);  ///< writes timings to standard error
void run_verify(const std::string& file);
std::string list_passes();

}  // namespace antegrad::cli
