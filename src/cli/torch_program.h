#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace antegrad::cli {

/// What needs LibTorch is another program, antegrad-torch: beside this one, or in the libexec folder of the
/// same installation.
struct TorchProgram {
  std::optional<std::filesystem::path> path;  ///< nothing: it is not there
  std::vector<std::filesystem::path> places;  ///< where it was looked for
};
TorchProgram find_torch_program();

/// Starts it with the arguments of this command and waits for it; gives the exit code of the command. Throws
/// Error(Io) when it is missing, does not start, or is ended by a signal.
int run_torch_program(const std::string& where, char** argv);

}  // namespace antegrad::cli
