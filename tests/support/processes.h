#pragma once
// For tests that are several processes: each executes this program anew, because LibTorch's threads do not
// survive a fork.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "support/temporary.h"

namespace antegrad::test {

/// What a process of Processes is told.
inline int64_t own_rank() { return std::atoll(std::getenv("TEST_RANK")); }
inline int64_t number_of_processes() { return std::atoll(std::getenv("TEST_SIZE")); }
inline std::string meeting_file() { return std::getenv("TEST_MEETING"); }

/// Runs a disabled test ("Suite.DISABLED_Name") in several processes at the same time. Each is killed after a
/// minute.
class Processes {
 public:
  Processes(const std::string& test, int64_t count) : meeting_(temporary_path("meeting_" + test)) {
    std::filesystem::remove(meeting_);
    for (int64_t rank = 0; rank < count; ++rank) start(test, rank, count);
  }
  ~Processes() {
    for (const auto& process : processes_)
      if (process.id > 0) ::kill(process.id, SIGKILL);
    for (size_t rank = 0; rank < processes_.size(); ++rank) status(rank);
    std::filesystem::remove(meeting_);
    for (const auto& process : processes_) std::filesystem::remove(process.output);
  }
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  void kill(size_t rank) { ::kill(processes_[rank].id, SIGKILL); }
  /// Waits for a process. Returns its exit status, or minus the signal that ended it.
  int status(size_t rank) {
    auto& process = processes_[rank];
    int status = 0;
    if (process.id > 0 && ::waitpid(process.id, &status, 0) == process.id)
      process.status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    process.id = 0;
    return process.status;
  }
  /// What a process has printed so far.
  std::string output(size_t rank) const {
    std::ostringstream text;
    text << std::ifstream(processes_[rank].output).rdbuf();
    return text.str();
  }
  void expect_success() {
    for (size_t rank = 0; rank < processes_.size(); ++rank)
      EXPECT_EQ(status(rank), 0) << "process " << rank << "\n" << output(rank);
  }

 private:
  struct Process {
    pid_t id = 0;
    std::string output;
    int status = -1;
  };

  void start(const std::string& test, int64_t rank, int64_t count) {
    auto& process = processes_.emplace_back();
    process.output = meeting_ + "_" + std::to_string(rank);
    const auto program = std::filesystem::read_symlink("/proc/self/exe").string();
    const std::string filter = "--gtest_filter=" + test;
    const std::string variables[] = {"TEST_RANK=" + std::to_string(rank),
                                     "TEST_SIZE=" + std::to_string(count), "TEST_MEETING=" + meeting_,
                                     "OMP_NUM_THREADS=1"};
    std::vector<char*> environment;
    for (const auto& variable : variables) environment.push_back(const_cast<char*>(variable.c_str()));
    for (char** variable = environ; *variable != nullptr; ++variable) {
      const std::string_view text = *variable;
      if (!text.starts_with("OMP_NUM_THREADS=") && !text.starts_with("GTEST_"))
        environment.push_back(*variable);
    }
    environment.push_back(nullptr);
    const char* const arguments[] = {program.c_str(), "--gtest_also_run_disabled_tests", filter.c_str(),
                                     nullptr};
    process.id = ::fork();
    if (process.id != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::alarm(120);
    if (::freopen(process.output.c_str(), "w", stdout) == nullptr || ::dup2(1, 2) < 0) ::_exit(126);
    ::execve(program.c_str(), const_cast<char**>(arguments), environment.data());
    ::_exit(127);
  }

  std::string meeting_;
  std::vector<Process> processes_;
};

}  // namespace antegrad::test
