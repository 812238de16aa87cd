#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "cache/settings.h"
#include "cli/cache/cache_view.h"
#include "cli/command_output.h"

namespace CLI {
class App;
}

namespace antegrad::cli {

/// The commands `antegrad cache …`. Must live as long as the App to which it adds them.
class CacheCommands {
 public:
  explicit CacheCommands(CLI::App& app);
  CacheCommands(const CacheCommands&) = delete;
  CacheCommands& operator=(const CacheCommands&) = delete;

  /// Whether the command line contains one of them.
  bool parsed() const;
  /// Throws Error (exit code 1) and UsageError (2).
  CommandOutput run();

 private:
  using Run = CommandOutput (CacheCommands::*)();

  CLI::App& add(const std::string& name, const std::string& help, Run run);
  CacheView open(Access access) const;
  template <class Result>
  CommandOutput output(const Result& result, bool failed = false) const;

  CommandOutput stats();
  CommandOutput list();
  CommandOutput show();
  CommandOutput verify();
  CommandOutput clear();
  CommandOutput gc();
  CommandOutput export_bundle();
  CommandOutput import_bundle();
  CommandOutput explain();

  CLI::App* group_ = nullptr;
  std::string chosen_;
  Run run_ = nullptr;

  CachePlace place_;
  bool json_ = false;
  bool kinds_ = false;
  bool yes_ = false;
  std::string key_, other_key_;
  std::string kind_, name_;
  std::string file_;
  std::optional<uint64_t> limit_;  ///< of `list`; 0 for no limit
  uint64_t limit_bytes_ = cache::LocalSettings{}.limit_bytes;
};

}  // namespace antegrad::cli
