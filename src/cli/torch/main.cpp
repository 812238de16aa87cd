// antegrad-torch: runs the commands that need LibTorch; started by `antegrad` with its own arguments.
#include <c10/util/Exception.h>

#include <CLI/CLI.hpp>

#include "cli/errors.h"
#include "cli/files.h"
#include "cli/text.h"
#include "cli/torch/commands.h"

namespace antegrad::cli {
namespace {

int run(int argc, char** argv) {
  CLI::App app("Runs graphs; started by the command antegrad.", "antegrad");
  app.require_subcommand(1);
  RunOptions run;
  BenchOptions bench;
  const auto& run_command = add_run(app, run);
  const auto& bench_command = add_bench(app, bench);
  PackageCommand package;
  const auto& package_command = add_package(app, package);
  std::string program_file, program_model;
  const auto add_program_command = [&](const char* name, const char* help) {
    auto* command = app.add_subcommand(name, help);
    command->add_option("FILE", program_file, "a program of torch.export")->required();
    command->add_option("--model", program_model, "which of several programs in a file");
    return command;
  };
  const auto* print_command = add_program_command("print", "print a program");
  const auto* graph_command = add_program_command("graph", "print the captured graph of a program");
  const auto* libtorch_command =
      app.add_subcommand("libtorch", "describe the LibTorch that is used, as JSON");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kDone : kUsage;
  }
  if (run_command.parsed()) write_output(is_program(run.file) ? run_program(run) : run_graph(run));
  if (bench_command.parsed())
    write_output(is_program(bench.file) ? bench_program(bench) : bench_graph(bench));
  if (print_command->parsed()) write_output(print_program(program_file, program_model));
  if (graph_command->parsed()) write_output(graph_of_program(program_file, program_model));
  if (package_command.parsed()) {
    set_package_action(package_command, package);
    write_output(run_package(package));
  }
  if (libtorch_command->parsed()) write_output(describe_libtorch());
  return kDone;
}

}  // namespace
}  // namespace antegrad::cli

int main(int argc, char** argv) {
  try {
    return antegrad::cli::run(argc, argv);
  } catch (const c10::Error& error) {
    antegrad::cli::print_error("[LibTorch] " + antegrad::cli::first_sentence(error.what_without_backtrace()) +
                               ". The graph, or what it was given, does not suit it.");
    return antegrad::cli::kFailed;
  } catch (...) {
    return antegrad::cli::report_exception(argc > 1 ? argv[1] : "cli");
  }
}
