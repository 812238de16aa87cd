#include "util/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "antegrad/error.h"

namespace antegrad::inline util {
namespace {

[[noreturn]] void fail(const std::string& fact, int error) {
  throw Error(ErrorCode::Io, "toolchain", fmt::format("{}: {}", fact, std::strerror(error)));
}

/// Both ends are closed on exec.
struct Pipe {
  Pipe() {
    if (pipe2(ends, O_CLOEXEC) != 0) fail("cannot make a pipe", errno);
  }
  ~Pipe() {
    ::close(ends[0]);
    close_writer();
  }
  void close_writer() {
    if (ends[1] >= 0) ::close(ends[1]);
    ends[1] = -1;
  }
  std::string read_all() const {
    std::string text;
    char buffer[4096];
    for (;;) {
      const auto count = read(ends[0], buffer, sizeof(buffer));
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return text;
      text.append(buffer, count);
    }
  }
  int ends[2] = {-1, -1};
};

/// Settings of the started program: its files, the pipe as output, no signals blocked or ignored.
struct SpawnSettings {
  SpawnSettings(const ProcessFiles& given, int output) {
    posix_spawn_file_actions_init(&files);
    if (given.input >= 0)
      posix_spawn_file_actions_adddup2(&files, given.input, STDIN_FILENO);
    else
      posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, given.output >= 0 ? given.output : output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, output, STDERR_FILENO);
    posix_spawnattr_init(&attributes);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
  }
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
};

int wait_for(pid_t process) {
  int status = 0;
  while (waitpid(process, &status, 0) < 0) {
    // A host that ignores SIGCHLD has the process reaped automatically; callers also check the program's
    // output.
    if (errno == ECHILD) return 0;
    if (errno != EINTR) fail("cannot wait for a process", errno);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

ProcessResult run_process(const std::vector<std::string>& command, const ProcessFiles& files) {
  std::vector<char*> arguments;
  for (const auto& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  Pipe pipe;
  const SpawnSettings settings(files, pipe.ends[1]);
  pid_t process = 0;
  const int error =
      posix_spawnp(&process, arguments[0], &settings.files, &settings.attributes, arguments.data(), environ);
  if (error != 0) fail(fmt::format("cannot run {}", fmt::join(command, " ")), error);
  pipe.close_writer();
  auto output = pipe.read_all();
  return {wait_for(process), std::move(output)};
}

TemporaryFolder::TemporaryFolder() {
  auto pattern = (std::filesystem::temp_directory_path() / "antegrad-XXXXXX").string();
  if (!mkdtemp(pattern.data())) fail(fmt::format("cannot make the folder {}", pattern), errno);
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace antegrad::inline util
