// Packages of workloads: how long it takes to make one, and what a process that loads it has to wait for.
// Prints a table. The program runs itself for the measurements of loading.
#include <ATen/Functions.h>
#include <ATen/Parallel.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <vector>

#include "antegrad/compile.h"
#include "antegrad/package.h"
#include "child_process.h"
#include "main.h"
#include "timing.h"
#include "workloads.h"

namespace antegrad::benchmarks {
namespace {

struct PackageSettings {
  std::vector<std::string> workloads{"small", "gpt"};
  int threads = 2;
  int repeats = 7;
  bool smoke = false;
  std::string measure;  ///< the package that this process is to load; empty for the table
  Scale scale() const { return smoke ? Scale::Small : Scale::Full; }
};

void forget_gradients(const Tensors& parameters) {
  for (const auto& parameter : parameters) parameter.mutable_grad() = at::Tensor();
}

struct StepTimes {
  double call = 0, step = 0;
};

/// Medians of calls, and of calls with backward passes: of at least 15, and of those in some time, since the
/// first steps of a process are slow.
template <class Loss>
StepTimes time_steps(const Loss& loss_of, const Tensors& parameters) {
  constexpr double kNanoseconds = 50e6;
  constexpr int kFewest = 15;
  std::vector<double> calls, steps;
  const auto begin = Clock::now();
  for (int i = 0; i < kFewest + 1 || nanoseconds_since(begin) < kNanoseconds; ++i) {
    forget_gradients(parameters);
    const auto start = Clock::now();
    auto loss = loss_of();
    const auto called = nanoseconds_since(start) * 1e-9;
    loss.backward();
    if (i > 0) calls.push_back(called), steps.push_back(nanoseconds_since(start) * 1e-9);
  }
  return {median(calls), median(steps)};
}

/// In a new process: loads a package and takes steps.
void measure_package(const PackageSettings& settings) {
  // Initialises LibTorch's threads and its matrix library first, as in a program that has its data.
  const auto matrix = at::ones({256, 256});
  at::mm(matrix, matrix).add_(1);
  const auto inputs = make_workload(settings.workloads.at(0), settings.scale()).inputs;
  const auto start = Clock::now();
  const auto package = Package::load(settings.measure, {.strict = true});
  const auto function = package.function("loss");
  {  // as long as the loss exists, other passes share the nodes of its history
    auto loss = function(inputs).toTensor();
    print_field("first_call_s", nanoseconds_since(start) * 1e-9);
    loss.backward();
    print_field("first_step_s", nanoseconds_since(start) * 1e-9);
  }
  const auto times = time_steps([&] { return function(inputs).toTensor(); }, package.parameters());
  print_field("call_s", times.call);
  print_field("step_s", times.step);
}

void print_row_of_package(const PackageSettings& settings, const std::string& name) {
  const auto workload = make_workload(name, settings.scale());
  const auto compiled = compile([loss = workload.loss, parameters = workload.parameters](
                                    const Tensors& inputs) { return loss(parameters, inputs); });
  const auto before = Clock::now();
  compiled(workload.inputs).backward();
  const auto first = nanoseconds_since(before) * 1e-9;
  const auto file = (std::filesystem::temp_directory_path() /
                     ("antegrad-bench-" + name + "-" + std::to_string(getpid()) + ".pt2"))
                        .string();
  const auto start = Clock::now();
  package(file, {{"loss", compiled}});
  const auto made = nanoseconds_since(start) * 1e-9;
  const auto own = time_steps([&] { return compiled(workload.inputs); }, workload.parameters);
  std::vector<double> calls, steps, later_calls, later_steps;
  for (int i = 0; i < settings.repeats; ++i) {
    const auto fields = run_self("--measure '" + file + "' --workload " + name + " --threads " +
                                     std::to_string(settings.threads) + (settings.smoke ? " --smoke" : ""),
                                 "ANTEGRAD_CACHE=off");
    calls.push_back(fields.at("first_call_s"));
    steps.push_back(fields.at("first_step_s"));
    later_calls.push_back(fields.at("call_s"));
    later_steps.push_back(fields.at("step_s"));
  }
  const auto megabytes = static_cast<double>(std::filesystem::file_size(file)) / (1 << 20);
  std::filesystem::remove(file);
  std::printf("%-8s %10.1f %8.1f %8.2f %10.2f %10.2f %10.3f %10.3f %10.3f %10.3f\n", name.c_str(),
              first * 1e3, made * 1e3, megabytes, median(calls) * 1e3, median(steps) * 1e3,
              median(later_calls) * 1e3, own.call * 1e3, median(later_steps) * 1e3, own.step * 1e3);
  std::fflush(stdout);
}

int bench_packages(int argc, char** argv) {
  CLI::App app("Times packages of workloads.");
  PackageSettings settings;
  app.add_option("--workload", settings.workloads, "which workloads")->delimiter(',');
  app.add_option("--threads", settings.threads, "threads of LibTorch");
  app.add_option("--repeats", settings.repeats, "processes that load each package");
  app.add_flag("--smoke", settings.smoke, "little data, one process each: only shows that it works");
  app.add_option("--measure", settings.measure, "load this package and print times");
  CLI11_PARSE(app, argc, argv);
  if (settings.smoke) settings.repeats = 1;
  at::set_num_threads(settings.threads);
  if (!settings.measure.empty()) {
    measure_package(settings);
    return 0;
  }
  std::printf(
      "milliseconds (MiB)                    new process         median call           median step\n");
  std::printf(
      "workload  first step     make     file   1st call   1st step    package   compiled    package   "
      "compiled\n");
  for (const auto& name : settings.workloads) print_row_of_package(settings, name);
  return 0;
}

const NamedProgram program_packages("bench_packages", bench_packages);

}  // namespace
}  // namespace antegrad::benchmarks
