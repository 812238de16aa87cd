#pragma once
#include <string>

namespace CLI {
class App;
}

namespace antegrad::cli {

/// `antegrad report`. Lives as long as the App that it adds its command to.
class ReportCommand {
 public:
  explicit ReportCommand(CLI::App& app);
  ReportCommand(const ReportCommand&) = delete;
  ReportCommand& operator=(const ReportCommand&) = delete;

  bool parsed() const;
  /// Returns what goes to standard output. Throws Error.
  std::string run() const;

 private:
  CLI::App* command_;
  std::string directory_, page_, chrome_trace_;
};

}  // namespace antegrad::cli
