#include "cli/graph/graph_options.h"

#include <CLI/CLI.hpp>

#include "cli/option_checks.h"

namespace antegrad::cli {
namespace {

constexpr const char* kRunExamples =
    "Inputs that are not given are random: normally distributed, or 0 or 1 for integers and booleans.\n"
    "A joint graph is partitioned; its forward graph and then its backward graph are run.\n"
    "\n"
    "Examples:\n"
    "  antegrad run model.graph\n"
    "  antegrad run model.graph --size s0=32 --backend eager --seed 7\n"
    "  antegrad run model.graph --input inputs.pt --output results.pt\n"
    "  antegrad run model.graph --input x=x.pt --input mask=32,8 --print\n"
    "  antegrad run model.pt2 --inputs model.pt2.in --seed 0 --gradients --json\n"
    "\n"
    "Exit codes: 0 success; 1 failure; 2 wrong usage.";

constexpr const char* kBenchExamples =
    "The graph runs fused (as with Backend::Default) and op by op as it is written (with LibTorch's\n"
    "kernels), alternating, in one process. The cache is not used, so the graph is really compiled.\n"
    "\n"
    "Examples:\n"
    "  antegrad bench model.graph\n"
    "  antegrad bench model.graph --size s0=256 --threads 1 --seconds 5\n"
    "  antegrad bench model.graph --runs 100 --json\n"
    "\n"
    "Exit codes: 0 success; 1 failure; 2 wrong usage.";

void add_common(CLI::App& command, GraphOptions& options) {
  command
      .add_option("FILE", options.file,
                  "a graph as text (- reads standard input), or a program of\ntorch.export: FILE.pt2")
      ->required()
      ->type_name("");
  command
      .add_option(
          "--input", options.inputs,
          "FILE.pt: a tensor, a list of tensors in the order of inputs,\n"
          "or a dictionary of tensors by name;\n"
          "NAME=FILE.pt: one tensor;\n"
          "NAME=SHAPE: random numbers of that shape, such as x=32,8,\nwhich gives symbols their sizes")
      ->type_name("WHAT")
      ->allow_extra_args(false);
  command
      .add_option("--inputs", options.program_inputs,
                  "the tensors that a program takes: text, or safetensors")
      ->type_name("FILE")
      ->check(not_empty());
  command.add_option("--model", options.model, "which of several programs in a file")
      ->type_name("NAME")
      ->check(not_empty());
  command.add_option("--size", options.sizes, "the values of symbols: s0=32,s1=8")
      ->type_name("SYMBOL=SIZE")
      ->delimiter(',')
      ->allow_extra_args(false);
  command.add_option("--seed", options.seed, "the seed of random inputs; the default is 0")
      ->type_name("N")
      ->check(whole_number());
  command
      .add_option("--threads", options.threads,
                  "how many threads LibTorch may use; 0 (default): its own choice")
      ->type_name("N")
      ->check(whole_number(0, 4096));
}

}  // namespace

CLI::App& add_run(CLI::App& app, RunOptions& options) {
  auto& command = *app.add_subcommand("run", "run a graph and summarise its outputs");
  add_common(command, options);
  command
      .add_option("--backend", options.backend,
                  "eager: op by op, by LibTorch; nofuse: a kernel per op;\n"
                  "default: fused kernels. Without it, $ANTEGRAD_BACKEND")
      ->type_name("NAME")
      ->check(one_of({"eager", "nofuse", "default"}));
  command.add_option("--output", options.output, "write the outputs to this file, by name")
      ->type_name("FILE.pt")
      ->check(not_empty());
  command.add_flag("--print", options.print, "print the outputs");
  command.add_flag("--gradients", options.gradients, "of a program: compute the gradients of its parameters");
  command.add_flag("--json", options.json, "of a program: print JSON");
  command.footer(kRunExamples);
  return command;
}

CLI::App& add_bench(CLI::App& app, BenchOptions& options) {
  auto& command = *app.add_subcommand("bench", "time a graph fused against op by op");
  add_common(command, options);
  command.add_option("--seconds", options.seconds, "how long to measure; the default is 2")
      ->type_name("S")
      ->check(real_number(0, 86400));
  command.add_option("--runs", options.runs, "how many runs of each, instead of --seconds")
      ->type_name("N")
      ->check(whole_number(1, 1'000'000'000));
  command.add_flag("--json", options.json, "print JSON");
  command.footer(kBenchExamples);
  return command;
}

}  // namespace antegrad::cli
