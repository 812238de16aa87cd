#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace antegrad::inline util {

struct ProcessResult {
  int status = 0;      ///< exit status, or 128 + signal number
  std::string output;  ///< standard error, and standard output unless redirected
};

/// Open files for a program. Without an input, its standard input is empty; without an output, its standard
/// output is captured together with its standard error.
struct ProcessFiles {
  int input = -1, output = -1;
};

/// Runs a program (found on PATH) to completion, without a shell. Throws Error when it cannot be started.
ProcessResult run_process(const std::vector<std::string>& command, const ProcessFiles& files = {});

/// A new folder for temporary files, removed with its contents by the destructor.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace antegrad::inline util
