#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/cache/cache_commands.h"
#include "cli/doctor/doctor.h"
#include "cli/errors.h"
#include "cli/files.h"
#include "cli/graph/commands.h"
#include "cli/graph/graph_options.h"
#include "cli/option_checks.h"
#include "cli/package_options.h"
#include "cli/report/report_command.h"
#include "cli/torch_program.h"

namespace antegrad::cli {
namespace {

constexpr const char* kVersion = "antegrad " ANTEGRAD_VERSION " for LibTorch " ANTEGRAD_LIBTORCH_VERSION;

constexpr const char* kExamples =
    "Examples:\n"
    "  antegrad doctor\n"
    "  antegrad print model.graph\n"
    "  antegrad opt --pipeline functional model.graph\n"
    "  antegrad run model.graph --size s0=32\n"
    "  antegrad bench model.graph --json\n"
    "  antegrad package show model.pt2\n"
    "  antegrad cache stats\n"
    "\n"
    "Exit codes: 0 success; 1 failure, or a problem was found; 2 wrong usage.\n"
    "Errors go to standard error: antegrad: [stage:op] fact. Way out.\n"
    "See antegrad COMMAND --help and man antegrad for more.";

constexpr const char* kPrintExamples =
    "Examples:\n"
    "  antegrad print model.graph\n"
    "  antegrad print --compact - < model.graph";

constexpr const char* kOptExamples =
    "Examples:\n"
    "  antegrad opt --pipeline functional --timing model.graph\n"
    "  antegrad opt --pass decompose,dead_code --verify model.graph\n"
    "  antegrad opt --pipeline before_fusion model.pt2\n"
    "antegrad passes lists the passes, antegrad passes --pipelines the pipelines.";

bool is_program_file(const std::string& file) {
  const std::string end = ".pt2";
  return file.size() >= end.size() && file.compare(file.size() - end.size(), end.size(), end) == 0;
}

void add_file(CLI::App& command, std::string& file) {
  command
      .add_option("FILE", file,
                  "a graph as text; - reads standard input; print and opt also take a program of "
                  "torch.export: FILE.pt2")
      ->required()
      ->type_name("");
}

/// The commands on graph text.
class GraphCommands {
 public:
  explicit GraphCommands(CLI::App& app) {
    print_command_ = app.add_subcommand("print", "parse and verify a graph and print it in canonical form");
    print_command_->add_flag("--compact", print_.compact,
                             "leave out the provenance of nodes (scope, sequence number)");
    print_command_->add_option("--model", print_.model, "which of several programs in FILE.pt2")
        ->type_name("NAME");
    add_file(*print_command_, print_.file);
    print_command_->footer(kPrintExamples);
    add_opt(app);
    verify_command_ = app.add_subcommand("verify", "check that a graph follows the rules of its stage");
    add_file(*verify_command_, verified_file_);
    verify_command_->footer(
        "Example:\n  antegrad verify model.graph && echo good\n"
        "\nExit codes: 0 the graph is valid; 1 it is not, or does not parse; 2 wrong usage.");
    passes_command_ = app.add_subcommand("passes", "list the passes");
    passes_command_->add_flag("--pipelines", pipelines_, "list the pipelines and their passes instead");
  }

  void check() const {
    if (opt_command_->parsed() && pass_->count() == 0 && pipeline_->count() == 0)
      throw CLI::RequiredError("--pass or --pipeline");
  }

  /// A program of torch.export, which antegrad-torch prints.
  bool prints_program() const { return print_command_->parsed() && is_program_file(print_.file); }

  /// A program whose graph antegrad-torch captures; run_on_graph() does the rest.
  bool optimises_program() const { return opt_command_->parsed() && is_program_file(opt_.file); }
  CommandOutput capture_program() const {
    return torch_program_output("opt", {"graph", opt_.file, "--model", opt_.model});
  }
  std::string run_on_graph(const std::string& graph) const { return run_opt(opt_, graph); }

  std::string run() const {
    if (print_command_->parsed()) return run_print(print_);
    if (opt_command_->parsed()) return run_opt(opt_, read_file(opt_.file));
    if (verify_command_->parsed()) run_verify(verified_file_);
    if (passes_command_->parsed()) return pipelines_ ? list_pipelines() : list_passes();
    return {};
  }

 private:
  void add_opt(CLI::App& app) {
    opt_command_ = app.add_subcommand("opt", "run passes on a graph and print the result");
    pass_ = opt_command_->add_option("--pass", opt_.passes, "passes to run, in this order: a,b,...");
    pass_->type_name("NAMES")->delimiter(',')->allow_extra_args(false);
    pipeline_ = opt_command_->add_option("--pipeline", opt_.pipeline,
                                         "a named list of passes, as the compiler runs it");
    pipeline_->type_name("NAME")->check(not_empty())->excludes(pass_);
    const auto add_numbers = [&](const char* name, std::vector<size_t>& numbers, const char* help) {
      auto* option = opt_command_->add_option(name, numbers, help)->type_name("NUMBERS")->delimiter(',');
      option->check(whole_number())->allow_extra_args(false)->needs(pipeline_);
    };
    add_numbers("--undefined-tangents", opt_.undefined_tangents,
                "tangents that the pipeline backward_case treats as undefined: 0,1,...");
    add_numbers("--unwanted-gradients", opt_.unwanted_gradients,
                "outputs that the pipeline backward_case drops: 0,1,...");
    opt_command_->add_option("--disable", opt_.disabled, "passes to skip: a,b,...")
        ->type_name("NAMES")
        ->delimiter(',')
        ->allow_extra_args(false);
    opt_command_->add_flag("--verify", opt_.verify, "verify the graph before and after each pass");
    opt_command_->add_flag("--timing", opt_.timing, "write the time of each pass to standard error");
    opt_command_->add_option("--model", opt_.model, "which of several programs in FILE.pt2")
        ->type_name("NAME");
    add_file(*opt_command_, opt_.file);
    opt_command_->footer(kOptExamples);
  }

  PrintOptions print_;
  OptOptions opt_;
  std::string verified_file_;
  bool pipelines_ = false;
  CLI::App *print_command_, *opt_command_, *verify_command_, *passes_command_;
  CLI::Option *pass_, *pipeline_;
};

/// Requests for help and version succeed; any other parse error is wrong use.
int exit_of(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) return app.exit(error);
  std::string command = "antegrad", where = "usage";
  const auto* level = &app;
  while (!level->get_subcommands().empty()) {
    level = level->get_subcommands().front();
    command += " " + level->get_name();
    where += ":" + level->get_name();
  }
  std::string fact = error.what();
  const auto strangers = app.remaining(true);
  if (level->get_require_subcommand_min() > 0 && !strangers.empty())
    fact = fmt::format("there is no command \"{}\"", strangers.front());
  if (const auto override = fact.find(" was given a disallowed flag override"); override != fact.npos)
    fact = fmt::format("--{} takes no value", fact.substr(0, override));
  while (!fact.empty() && (fact.back() == '.' || fact.back() == '\n')) fact.pop_back();
  print_error(fmt::format("[{}] {}. See {} --help.", where, fact, command));
  return kUsage;
}

int run(int argc, char** argv) {
  CLI::App app(
      "Inspects, transforms, runs and times antegrad graphs, maintains caches, checks this machine, and "
      "shows what the compiler did.",
      "antegrad");
  app.set_version_flag("--version", kVersion);
  app.require_subcommand(1);
  app.footer(kExamples);
  const GraphCommands graphs(app);
  RunOptions run_options;
  BenchOptions bench_options;
  const auto& run_command = add_run(app, run_options);
  const auto& bench_command = add_bench(app, bench_options);
  PackageCommand package_options;
  const auto& package_command = add_package(app, package_options);
  CacheCommands cache(app);
  DoctorOptions doctor;
  const auto& doctor_command = add_doctor(app, doctor);
  const ReportCommand report(app);
  refuse_values_of_flags(app);
  try {
    app.parse(argc, argv);
    graphs.check();
  } catch (const CLI::ParseError& error) {
    return exit_of(app, error);
  }
  if (graphs.prints_program()) return run_torch_program("print", argv);
  if (graphs.optimises_program()) {
    const auto [text, exit_code] = graphs.capture_program();
    if (exit_code == kDone)
      write_output(graphs.run_on_graph(text));
    else
      std::fputs(text.c_str(), stderr);
    return exit_code;
  }
  if (run_command.parsed()) return run_torch_program("run", argv);
  if (bench_command.parsed()) return run_torch_program("bench", argv);
  if (package_command.parsed()) return run_torch_program("package", argv);
  if (report.parsed()) {
    write_output(report.run());
    return kDone;
  }
  if (!cache.parsed() && !doctor_command.parsed()) {
    write_output(graphs.run());
    return kDone;
  }
  const auto [text, exit_code] = cache.parsed() ? cache.run() : run_doctor(doctor);
  write_output(text);
  return exit_code;
}

}  // namespace
}  // namespace antegrad::cli

int main(int argc, char** argv) {
  try {
    return antegrad::cli::run(argc, argv);
  } catch (...) {
    return antegrad::cli::report_exception("cli");
  }
}
