#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class App;
}

// The command line of `antegrad package`, parsed both by `antegrad`, which prints help and rejects wrong use,
// and by antegrad-torch, which does the work.
namespace antegrad::cli {

struct PackageCommand {
  std::string action;  ///< "list", "show", "verify", "run", "bench", "strip" or "sources"; set by
                       ///< set_package_action()
  std::string file, function, output, inputs, key_file, kernel_library;
  std::vector<std::string> isas;
  uint64_t seed = 0;
  double seconds = 1;
  bool gradients = false, strict = false, ir_only = false;
};

CLI::App& add_package(CLI::App& app, PackageCommand& options);
/// Sets options.action after the command line was parsed.
void set_package_action(const CLI::App& command, PackageCommand& options);

}  // namespace antegrad::cli
