#include "cli/torch_program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "antegrad/error.h"
#include "cli/files.h"
#include "util/process.h"

#ifndef ANTEGRAD_LIBEXEC
#define ANTEGRAD_LIBEXEC "../libexec/antegrad"  // from the folder of the command
#endif

namespace antegrad::cli {
namespace {

constexpr const char* kProgram = "antegrad-torch";
constexpr int kNotStarted = 127;  ///< the loader's exit code when a library is missing

[[noreturn]] void fail(const std::string& where, const std::string& fact, const std::string& way_out) {
  throw Error(ErrorCode::Io, where, fact, way_out);
}

}  // namespace

TorchProgram find_torch_program() {
  TorchProgram out;
  std::error_code ignored;
  const auto folder = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  for (const auto& place : {folder / kProgram, (folder / ANTEGRAD_LIBEXEC / kProgram).lexically_normal()}) {
    out.places.push_back(place);
    if (!out.path && std::filesystem::is_regular_file(place, ignored)) out.path = place;
  }
  return out;
}

namespace {

/// Throws Error(Io) when it is missing.
std::filesystem::path torch_program(const std::string& where) {
  const auto program = find_torch_program();
  if (program.path) return *program.path;
  std::vector<std::string> places;
  for (const auto& place : program.places) places.push_back(place.string());
  fail(where,
       fmt::format("{} is missing, and this command needs it; searched: {}", kProgram,
                   fmt::join(places, ", ")),
       "Build the target antegrad_torch_program, or install all of antegrad");
}

}  // namespace

CommandOutput torch_program_output(const std::string& where, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), torch_program(where).string());
  const TemporaryFolder folder;
  const auto file = (folder.path() / "output").string();
  const int output = ::open(file.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  if (output < 0) fail(where, fmt::format("{} cannot be written", file), "Free space in $TMPDIR");
  const auto result = run_process(arguments, {-1, output});
  ::close(output);
  return {result.status == 0 ? read_file(file) : result.output, result.status};
}

int run_torch_program(const std::string& where, char** argv) {
  const auto program = torch_program(where);
  pid_t child = 0;
  if (const int error = posix_spawn(&child, program.c_str(), nullptr, nullptr, argv, environ))
    fail(where, fmt::format("{} cannot be started: {}", program.string(), std::strerror(error)),
         "Run antegrad doctor");
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR)
      fail(where, fmt::format("the exit status of {} cannot be read", kProgram), "Try again");
  if (WIFSIGNALED(status))
    fail(where,
         fmt::format("{} was ended by signal {} ({})", kProgram, WTERMSIG(status),
                     strsignal(WTERMSIG(status))),
         "Check the graph with antegrad verify, and this machine with antegrad doctor");
  const int code = WEXITSTATUS(status);
  if (code == kNotStarted)
    fail(where, fmt::format("{} does not start", program.string()), "antegrad doctor says why");
  return code;
}

}  // namespace antegrad::cli
