#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class App;
}

// The command lines of `run` and `bench`. Both the command, which helps and refuses, and the program with
// LibTorch, which does the work, read them.
namespace antegrad::cli {

struct GraphOptions {
  std::string file;
  std::vector<std::string> inputs;  ///< FILE.pt, NAME=FILE.pt or NAME=SHAPE
  std::vector<std::string> sizes;   ///< s0=32
  uint64_t seed = 0;
  int threads = 0;  ///< 0: as LibTorch likes
};

struct RunOptions : GraphOptions {
  std::string backend;  ///< "": as the environment says, else default
  std::string output;
  bool print = false;
};

struct BenchOptions : GraphOptions {
  double seconds = 2;
  uint64_t runs = 0;  ///< 0: as many as fit into the seconds
  bool json = false;
};

CLI::App& add_run(CLI::App& app, RunOptions& options);
CLI::App& add_bench(CLI::App& app, BenchOptions& options);

}  // namespace antegrad::cli
