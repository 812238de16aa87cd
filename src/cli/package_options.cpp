#include "cli/package_options.h"

#include <CLI/CLI.hpp>

#include "cli/option_checks.h"

namespace antegrad::cli {
namespace {

constexpr const char* kPackageExamples =
    "Examples:\n"
    "  antegrad package list model.pt2\n"
    "  antegrad package show model.pt2\n"
    "  antegrad package verify model.pt2 --key-file key && echo good\n"
    "  antegrad package run model.pt2 loss --gradients\n"
    "  antegrad package bench model.pt2 loss --strict\n"
    "  antegrad package strip model.pt2 --isa avx2 --output small.pt2\n"
    "  antegrad package sources model.pt2 --output kernels && cmake -S kernels -B build && cmake --build "
    "build\n"
    "\n"
    "Exit codes: 0 success; 1 failure, or a damaged file; 2 wrong usage.";

CLI::App& add_action(CLI::App& command, PackageCommand& options, const char* name, const char* help) {
  auto& action = *command.add_subcommand(name, help);
  action.add_option("FILE", options.file, "a package")->required()->type_name("");
  action.add_option("--key-file", options.key_file, "refuse a package that was not signed with this key")
      ->type_name("FILE")
      ->check(not_empty());
  return action;
}

void add_call(CLI::App& action, PackageCommand& options) {
  action
      .add_option("FUNCTION", options.function,
                  "the function or training step to call; the default is the first")
      ->type_name("");
  action
      .add_option("--inputs", options.inputs,
                  "the tensors that the function takes, in the order of their\n"
                  "names: safetensors. Without it, random tensors")
      ->type_name("FILE")
      ->check(not_empty());
  action.add_option("--seed", options.seed, "the seed of random inputs; the default is 0")
      ->type_name("N")
      ->check(whole_number());
  action
      .add_option("--kernel-library", options.kernel_library,
                  "a library built of what `sources` has written: its\nkernels are used")
      ->type_name("FILE")
      ->check(not_empty());
  action.add_flag("--strict", options.strict, "fail where something would have to be compiled");
  action.add_flag("--ir-only", options.ir_only, "use no machine code of the file: compile its graphs");
}

}  // namespace

CLI::App& add_package(CLI::App& app, PackageCommand& options) {
  auto& command = *app.add_subcommand("package", "look at, check and run packages of compiled functions");
  command.require_subcommand(1);
  command.footer(kPackageExamples);
  add_action(command, options, "list", "list functions and weights");
  add_action(command, options, "show", "print all about a package: versions, guards, weights, kernels");
  add_action(command, options, "verify", "check every checksum and read everything");
  auto& run = add_action(command, options, "run", "call a function and summarise its results");
  add_call(run, options);
  run.add_flag("--gradients", options.gradients, "also differentiate the sum of the results by the weights");
  auto& bench =
      add_action(command, options, "bench", "time loading, the first call, calls and backward passes");
  add_call(bench, options);
  bench.add_option("--seconds", options.seconds, "how long to measure; the default is 1")
      ->type_name("S")
      ->check(real_number(0, 86400));
  auto& strip =
      add_action(command, options, "strip", "write the package with kernels of fewer instruction sets");
  strip.add_option("--isa", options.isas, "instruction sets to keep: baseline, avx2, avx512; default: none")
      ->type_name("NAMES")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(one_of({"baseline", "avx2", "avx512"}));
  strip.add_option("--output", options.output, "the file to write")
      ->required()
      ->type_name("FILE")
      ->check(not_empty());
  auto& sources = add_action(command, options, "sources",
                             "write the kernels as C, with a CMakeLists.txt that builds a library of them");
  sources.add_option("--output", options.output, "the folder to write")
      ->required()
      ->type_name("FOLDER")
      ->check(not_empty());
  return command;
}

void set_package_action(const CLI::App& command, PackageCommand& options) {
  options.action = command.get_subcommands().front()->get_name();
}

}  // namespace antegrad::cli
