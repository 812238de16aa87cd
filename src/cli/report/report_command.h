#pragma once
#include <string>

namespace CLI {
class App;
}

namespace antegrad::cli {

/// The command `antegrad report`. Must live as long as the App to which it adds the command.
class ReportCommand {
 public:
  explicit ReportCommand(CLI::App& app);
  ReportCommand(const ReportCommand&) = delete;
  ReportCommand& operator=(const ReportCommand&) = delete;

  bool parsed() const;
  /// Returns the text for standard output. Throws Error.
  std::string run() const;

 private:
  CLI::App* command_;
  std::string directory_, page_, chrome_trace_;
};

}  // namespace antegrad::cli
