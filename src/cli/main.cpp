#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "cli/cache_commands.h"
#include "cli/commands.h"

namespace antegrad::cli {
namespace {

constexpr int kFailed = 1, kUsage = 2;

void add_file(CLI::App& command, std::string& file) {
  command.add_option("FILE", file, "a graph as text; - reads standard input")->required();
}

int run(int argc, char** argv) {
  CLI::App app("Looks at and transforms antegrad graphs in text form, and keeps caches.", "antegrad");
  app.set_version_flag("--version", "antegrad " ANTEGRAD_VERSION);
  app.require_subcommand(1);

  PrintOptions print;
  auto* print_command =
      app.add_subcommand("print", "parse and verify a graph and print it in canonical form");
  print_command->add_flag("--compact", print.compact,
                          "leave out where nodes come from (scope, sequence number)");
  add_file(*print_command, print.file);

  OptOptions opt;
  auto* opt_command = app.add_subcommand("opt", "run passes on a graph and print the result");
  auto* pass = opt_command->add_option("--pass", opt.passes, "passes to run, in order, by name: a,b,...");
  pass->delimiter(',')->allow_extra_args(false);
  auto* pipeline =
      opt_command->add_option("--pipeline", opt.pipeline, "a list of passes by its name: default");
  pipeline->check(CLI::IsMember({"default"}))->excludes(pass);
  opt_command->add_option("--disable", opt.disabled, "passes to leave out: a,b,...")
      ->delimiter(',')
      ->allow_extra_args(false);
  opt_command->add_flag("--verify", opt.verify, "verify the graph before and after each pass");
  opt_command->add_flag("--timing", opt.timing, "write the time of each pass to standard error");
  add_file(*opt_command, opt.file);

  std::string verified_file;
  auto* verify_command = app.add_subcommand("verify", "check that a graph keeps the rules of its stage");
  add_file(*verify_command, verified_file);

  auto* passes_command = app.add_subcommand("passes", "list the passes");
  CacheCommands cache(app);

  try {
    app.parse(argc, argv);
    if (opt_command->parsed() && pass->count() == 0 && pipeline->count() == 0)
      throw CLI::RequiredError("opt: --pass or --pipeline");
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsage;
  }
  if (cache.parsed()) {
    const auto [text, exit_code] = cache.run();
    write_output(text);
    return exit_code;
  }
  std::string output;
  if (print_command->parsed()) output = run_print(print);
  if (opt_command->parsed()) output = run_opt(opt);
  if (verify_command->parsed()) run_verify(verified_file);
  if (passes_command->parsed()) output = list_passes();
  write_output(output);
  return 0;
}

}  // namespace
}  // namespace antegrad::cli

int main(int argc, char** argv) {
  try {
    return antegrad::cli::run(argc, argv);
  } catch (const antegrad::cli::UsageError& error) {
    fmt::print(stderr, "{}\n", error.what());
    return antegrad::cli::kUsage;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
  }
  return antegrad::cli::kFailed;
}
