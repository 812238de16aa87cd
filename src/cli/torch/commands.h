#pragma once
#include <string>

#include "cli/graph/graph_options.h"
#include "cli/package_options.h"

namespace antegrad::cli {

/// Each returns the text for standard output, or throws Error or UsageError.
std::string run_graph(const RunOptions& options);
std::string bench_graph(const BenchOptions& options);
/// The same for a program of torch.export.
bool is_program(const std::string& file);
std::string run_program(const RunOptions& options);
std::string bench_program(const BenchOptions& options);
std::string print_program(const std::string& file, const std::string& model);
/// The graph of a program, captured for arguments as at its export, for `antegrad opt`.
std::string graph_of_program(const std::string& file, const std::string& model);
/// Does what `antegrad package` is asked for.
std::string run_package(const PackageCommand& given);
/// Returns information for `antegrad doctor` as JSON.
std::string describe_libtorch();

}  // namespace antegrad::cli
