#include "cli/report/report_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>

#include "cli/files.h"
#include "cli/option_checks.h"
#include "cli/report/report_page.h"
#include "cli/text.h"

namespace antegrad::cli {
namespace {

std::string default_page(const std::string& directory) {
  std::error_code ignored;
  const std::filesystem::path path(directory);
  const auto folder = std::filesystem::is_directory(path, ignored) ? path : path.parent_path();
  return (folder / "report.html").string();
}

}  // namespace

ReportCommand::ReportCommand(CLI::App& app)
    : command_(app.add_subcommand("report", "make an HTML page of what the compiler did, from a trace")) {
  command_->add_option("DIR", directory_, "the directory of a trace (ANTEGRAD_TRACE), or one file of it")
      ->required();
  command_->add_option("-o,--output", page_, "the page to write; the default is DIR/report.html")
      ->check(not_empty());
  command_
      ->add_option(
          "--chrome-trace", chrome_trace_,
          "write spans for Perfetto or chrome://tracing;\nthen a page is written only if -o names one")
      ->check(not_empty());
}

bool ReportCommand::parsed() const { return command_->parsed(); }

std::string ReportCommand::run() const {
  const auto traces = read_traces(directory_);
  for (const auto& trace : traces)
    if (!trace.closed) fmt::print(stderr, "antegrad: {}: {}\n", one_line(trace.name), kNotClosed);
  std::string written;
  if (!chrome_trace_.empty()) {
    write_file("report", chrome_trace_, chrome_trace(traces));
    written += chrome_trace_ + "\n";
  }
  if (chrome_trace_.empty() || !page_.empty()) {
    const auto page = page_.empty() ? default_page(directory_) : page_;
    write_file("report", page, report_page(traces, directory_));
    written += page + "\n";
  }
  return written;
}

}  // namespace antegrad::cli
