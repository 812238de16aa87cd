#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace antegrad::toolchain {

struct ProcessResult {
  int status = 0;      ///< exit status; 128 + signal when one ended it
  std::string output;  ///< standard output and standard error together
};

/// Runs a program (found on PATH) to its end, without a shell and with nothing on its standard input. Throws
/// Error when it cannot be started.
ProcessResult run_process(const std::vector<std::string>& command);

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
