#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class App;
}

// The command lines of `run` and `bench`, parsed both by `antegrad`, which prints help and rejects wrong use,
// and by antegrad-torch, which does the work.
namespace antegrad::cli {

struct GraphOptions {
  std::string file;
  std::vector<std::string> inputs;  ///< FILE.pt, NAME=FILE.pt or NAME=SHAPE
  std::vector<std::string> sizes;   ///< s0=32
  std::string program_inputs;       ///< of a program: a file of tensors
  std::string model;                ///< which program of a file
  uint64_t seed = 0;
  int threads = 0;  ///< 0 for LibTorch's default
};

struct RunOptions : GraphOptions {
  std::string backend;  ///< "" for the environment's choice, else the default backend
  std::string output;
  bool print = false;
  bool gradients = false, json = false;  ///< of a program
};

struct BenchOptions : GraphOptions {
  double seconds = 2;
  uint64_t runs = 0;  ///< 0 for as many as fit into the given seconds
  bool json = false;
};

CLI::App& add_run(CLI::App& app, RunOptions& options);
CLI::App& add_bench(CLI::App& app, BenchOptions& options);

}  // namespace antegrad::cli
