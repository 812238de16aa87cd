#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/command_output.h"

namespace antegrad::cli {

/// The program antegrad-torch, which runs the commands that need LibTorch: beside this program, or in the
/// libexec folder of the same installation.
struct TorchProgram {
  std::optional<std::filesystem::path> path;  ///< nothing when it was not found
  std::vector<std::filesystem::path> places;  ///< where it was searched for
};
TorchProgram find_torch_program();

/// Runs it with the arguments of this command, waits for it and returns its exit code. Throws Error(Io) when
/// it is missing, cannot be started, or is ended by a signal.
int run_torch_program(const std::string& where, char** argv);

/// Runs it with these arguments and returns its standard output, or its standard error if it fails. Throws
/// Error(Io) when it is missing or cannot be started.
CommandOutput torch_program_output(const std::string& where, std::vector<std::string> arguments);

}  // namespace antegrad::cli
