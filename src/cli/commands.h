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

/// All bytes of a file; "-" is standard input. Throws Error(Io).
std::string read_file(const std::string& path);

/// Throws Error(Io) when standard output does not take it all.
void write_output(const std::string& text);

}  // namespace antegrad::cli
