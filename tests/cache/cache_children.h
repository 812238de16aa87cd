#pragma once
// For tests that run their own program as child processes. A child executes the program anew, because
// LibTorch's threads do not survive a fork, and does the job of cache_child_job.h. It answers in lines "@
// word …".
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace antegrad::test {

/// What a child reported, and how it ended.
struct ChildReport {
  int status = -1;                             ///< the exit status, or minus the signal that ended it
  std::map<std::string, std::string> results;  ///< for each function, a hash of the bits of its results
  std::map<std::string, uint64_t> counts;      ///< from CacheReport, and the number of compiled kernels
  std::vector<std::string> reasons;            ///< from CacheReport
  std::vector<std::string> whys;               ///< from the functions' Reports
  std::string directory;                       ///< from CacheReport
  double seconds = 0;                          ///< from the first call to the last result
  std::string output;                          ///< everything that it printed

  uint64_t count(const std::string& name) const {
    const auto found = counts.find(name);
    return found == counts.end() ? ~uint64_t{0} : found->second;
  }
  void read(const std::string& line) {
    std::istringstream words(line);
    std::string word, name, rest;
    words >> word;
    if (word == "result" && words >> name >> rest) results[name] = rest;
    if (word == "count" && words >> name) words >> counts[name];
    if (word == "seconds") words >> seconds;
    if (word == "directory") words >> directory;
    if (word == "reason" && std::getline(words >> std::ws, rest)) reasons.push_back(rest);
    if (word == "why" && std::getline(words >> std::ws, rest)) whys.push_back(rest);
  }
};

/// Environment variables of a child beyond those of this process. Variables of caches come only from here.
using ChildEnvironment = std::map<std::string, std::string>;

inline std::vector<std::string> environment_of(const ChildEnvironment& more) {
  std::vector<std::string> out;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string text = *variable;
    const auto name = text.substr(0, text.find('='));
    const bool ours = name.starts_with("ANTEGRAD_CACHE") || name.starts_with("GTEST_") || name == "HOME" ||
                      name == "XDG_CACHE_HOME" || name == "OMP_NUM_THREADS";
    if (!ours && !more.contains(name)) out.push_back(text);
  }
  out.push_back("OMP_NUM_THREADS=1");
  for (const auto& [name, value] : more) out.push_back(name + "=" + value);
  return out;
}

/// A running child; the destructor kills it.
class Child {
 public:
  /// `user`: the user to run as, or 0 for the user of this process.
  explicit Child(const ChildEnvironment& environment, uid_t user = 0) {
    // All memory is allocated before the fork.
    auto program = std::filesystem::read_symlink("/proc/self/exe").string();
    std::vector<std::string> words{program, "--gtest_also_run_disabled_tests",
                                   "--gtest_filter=CacheChild.DISABLED_Job"};
    auto variables = environment_of(environment);
    const auto argv = pointers(words), envp = pointers(variables);
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return;
    process_ = ::fork();
    if (process_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::dup2(ends[1], 1);
      ::dup2(ends[1], 2);
      if (user != 0 && (::setgid(user) != 0 || ::setuid(user) != 0)) ::_exit(126);
      ::execve(program.c_str(), argv.data(), envp.data());
      ::_exit(127);
    }
    ::close(ends[1]);
    output_ = ::fdopen(ends[0], "r");
  }
  ~Child() {
    kill();
    wait();
  }
  Child(Child&& other) noexcept
      : process_(std::exchange(other.process_, 0)),
        output_(std::exchange(other.output_, nullptr)),
        report_(std::move(other.report_)) {}
  Child& operator=(Child&&) = delete;

  /// Waits until the child is about to make its first call. Returns false if it ended before.
  bool wait_until_ready() {
    for (std::string line; next(line);)
      if (line == "ready") return true;
    return false;
  }
  void kill() const {
    if (process_ > 0) ::kill(process_, SIGKILL);
  }
  /// Waits until the child has ended.
  const ChildReport& wait() {
    for (std::string line; output_ != nullptr && next(line);) report_.read(line);
    if (output_ != nullptr) ::fclose(std::exchange(output_, nullptr));
    int status = 0;
    if (process_ > 0 && ::waitpid(process_, &status, 0) == process_)
      report_.status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    process_ = 0;
    return report_;
  }

 private:
  static std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> out;
    for (auto& text : texts) out.push_back(text.data());
    out.push_back(nullptr);
    return out;
  }
  /// Reads up to the next line that begins with "@ ", and gives the rest of that line.
  bool next(std::string& line) {
    char* text = nullptr;
    size_t room = 0;
    bool found = false;
    for (ssize_t size; !found && (size = ::getline(&text, &room, output_)) > 0;) {
      report_.output.append(text, static_cast<size_t>(size));
      line.assign(text, static_cast<size_t>(size));
      if (line.ends_with('\n')) line.pop_back();
      found = line.starts_with("@ ");
    }
    ::free(text);
    if (found) line.erase(0, 2);
    return found;
  }

  pid_t process_ = 0;
  FILE* output_ = nullptr;
  ChildReport report_;
};

/// Runs a child to its end; its status must be 0.
inline ChildReport run_child(const ChildEnvironment& environment, uid_t user = 0) {
  Child child(environment, user);
  auto report = child.wait();
  EXPECT_EQ(report.status, 0) << report.output;
  return report;
}

}  // namespace antegrad::test
