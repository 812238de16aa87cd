#pragma once
#include <string>
#include <vector>

namespace antegrad::cli {

struct PrintOptions {
  std::string file;
  std::string model;  ///< of a program, which antegrad-torch prints
  bool compact = false;
};

struct OptOptions {
  std::string file;
  std::string model;                       ///< of a program, whose graph antegrad-torch captures
  std::vector<std::string> passes;         ///< by name; empty for those of the pipeline
  std::string pipeline;                    ///< a name from passes/pipelines.h
  std::vector<size_t> undefined_tangents;  ///< by number, for the pipeline backward_case
  std::vector<size_t> unwanted_gradients;  ///< by number, for the pipeline backward_case
  std::vector<std::string> disabled;
  bool verify = false;
  bool timing = false;
};

/// Each returns the text for standard output, or throws Error. The file "-" is standard input.
std::string run_print(const PrintOptions& options);
/// `graph` is the text of a graph. Writes timings to standard error.
std::string run_opt(const OptOptions& options, const std::string& graph);
void run_verify(const std::string& file);
std::string list_passes();
std::string list_pipelines();

}  // namespace antegrad::cli
