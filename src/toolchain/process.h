#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace antegrad::toolchain {

struct ProcessResult {
  int status = 0;      ///< exit status; 128 + signal when one ended it
  std::string output;  ///< standard output and standard error together
};

/// Open files for a program. -1: nothing on its standard input; its standard output goes where its errors go.
struct ProcessFiles {
  int input = -1, output = -1;
};

/// Runs a program (found on PATH) to its end, without a shell. Throws Error when it cannot be started.
ProcessResult run_process(const std::vector<std::string>& command, const ProcessFiles& files = {});

/// A new folder for temporary files; removed with all its files when it goes.
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

}  // namespace antegrad::toolchain
