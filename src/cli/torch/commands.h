#pragma once
#include <string>

#include "cli/graph/graph_options.h"

namespace antegrad::cli {

/// Each returns what goes to standard output, and throws Error and UsageError.
std::string run_graph(const RunOptions& options);
std::string bench_graph(const BenchOptions& options);
/// What `antegrad doctor` asks for, as JSON.
std::string describe_libtorch();

}  // namespace antegrad::cli
