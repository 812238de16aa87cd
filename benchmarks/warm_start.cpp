// The first call of each workload in a new process, with an empty cache and with a cache that an earlier
// process filled. Prints a table and writes the numbers as JSON. The program runs itself for every
// measurement.
#include <ATen/Functions.h>
#include <ATen/Parallel.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <vector>

#include "child_process.h"
#include "compiler/cache/caches.h"
#include "main.h"
#include "timing.h"
#include "training_step.h"

namespace antegrad::benchmarks {
namespace {

struct Settings {
  WorkloadSet set = WorkloadSet::Peers;
  std::vector<std::string> workloads;  ///< all of the set if empty
  int threads = 2;
  int repeats = 7;
  bool smoke = false;
  std::string json;
  std::string measure;  ///< what this process is to measure; empty for the table
  std::string device = "cpu";
  Scale scale() const { return smoke ? Scale::Small : device == "cuda" ? Scale::Cuda : Scale::Full; }
};

// --- the measuring process

bool has_loaded(const char* library) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find(library) != std::string::npos) return true;
  return false;
}

/// Measures the first call, the first step, and later calls and steps.
void measure_start(const Settings& settings) {
  // Initialises LibTorch's threads and its matrix library first, as in a program that has loaded its weights
  // and data.
  const auto matrix = at::ones({256, 256}, device());
  at::mm(matrix, matrix).add_(1);
  const auto workload = make_on_device(settings.workloads.at(0), settings.scale());
  const auto compiled = compile_loss(workload);
  drop_gradients(workload);
  const auto start = Clock::now();
  auto loss = loss_of_workload(workload, compiled);
  synchronize();
  print_field("call_s", nanoseconds_since(start) * 1e-9);
  loss.backward();
  synchronize();
  print_field("step_s", nanoseconds_since(start) * 1e-9);
  print_field("llvm",
              has_loaded("libLLVM") || has_loaded("libantegrad_clang") || has_loaded("libnvrtc.so") ? 1 : 0);
  print_field("hits", static_cast<double>(compiled.report().cache.hits));
  std::vector<double> calls, steps;
  for (int i = 0; i < 5; ++i) {
    drop_gradients(workload);
    const auto again = Clock::now();
    auto value = loss_of_workload(workload, compiled);
    synchronize();
    calls.push_back(nanoseconds_since(again) * 1e-9);
    value.backward();
    synchronize();
    steps.push_back(nanoseconds_since(again) * 1e-9);
  }
  print_field("later_call_s", median(calls));
  print_field("later_step_s", median(steps));
}

/// Measures a lookup that misses.
void measure_lookup() {
  const auto caches = compiler::Caches::current();
  std::mt19937_64 random(1);
  std::vector<double> times;
  for (int i = 0; i < 100; ++i) {
    const auto key = cache::sha256(std::to_string(random()));
    const auto start = Clock::now();
    caches->store()->get({key, 0});
    times.push_back(nanoseconds_since(start) * 1e-6);
  }
  print_field("miss_ms", median(times));
}

// --- the parent process

struct Row {
  std::string workload;
  double cold_s = 0, warm_s = 0, later_s = 0, cold_step_s = 0, warm_step_s = 0, later_step_s = 0;
  bool llvm = false;
};

Row measure_row(const Settings& settings, const std::string& name) {
  const TemporaryFolder folder;
  const auto arguments = "--measure start --workload " + name + " --threads " +
                         std::to_string(settings.threads) + " --device " + settings.device +
                         (settings.smoke ? " --smoke" : "");
  const auto environment = "ANTEGRAD_CACHE=on ANTEGRAD_CACHE_DIR='" + folder.path() + "/cache'";
  const auto cold = run_self(arguments, environment);
  Row row{name, cold.at("call_s"), 0, 0, cold.at("step_s"), 0, 0, false};
  std::vector<double> calls, steps, later, later_steps;
  for (int i = 0; i < settings.repeats; ++i) {
    const auto warm = run_self(arguments, environment);
    if (warm.at("hits") < 2) throw std::runtime_error("a warm start did not find what a cold one stored");
    calls.push_back(warm.at("call_s"));
    steps.push_back(warm.at("step_s"));
    later.push_back(warm.at("later_call_s"));
    later_steps.push_back(warm.at("later_step_s"));
    row.llvm = row.llvm || warm.at("llvm") != 0;
  }
  row.warm_s = median(calls);
  row.later_s = median(later);
  row.warm_step_s = median(steps);
  row.later_step_s = median(later_steps);
  return row;
}

void print_row(const Row& row) {
  std::printf("%-10s %9.1f %9.1f %9.1f %9.0fx %11.1f %11.1f %11.1f  %s\n", row.workload.c_str(),
              row.cold_s * 1e3, row.warm_s * 1e3, row.later_s * 1e3, row.cold_s / row.warm_s,
              row.cold_step_s * 1e3, row.warm_step_s * 1e3, row.later_step_s * 1e3, row.llvm ? "yes" : "no");
  std::fflush(stdout);
}

void write_json(const std::vector<Row>& rows, const std::string& path) {
  const auto folder = std::filesystem::path(path).parent_path();
  if (!folder.empty()) std::filesystem::create_directories(folder);
  std::ofstream out(path);
  out.precision(6);
  const char* separator = "";
  out << "[\n";
  for (const auto& row : rows) {
    out << separator << R"(  {"workload": ")" << row.workload << R"(", "cold_s": )" << row.cold_s
        << R"(, "warm_s": )" << row.warm_s << R"(, "later_s": )" << row.later_s << R"(, "cold_step_s": )"
        << row.cold_step_s << R"(, "warm_step_s": )" << row.warm_step_s << R"(, "later_step_s": )"
        << row.later_step_s << R"(, "llvm_loaded": )" << (row.llvm ? "true" : "false") << "}";
    separator = ",\n";
  }
  out << "\n]\n";
  if (!out.flush()) throw std::runtime_error("cannot write " + path);
}

void make_table(const Settings& settings) {
  std::printf(
      "first call in a new process, ms; a step is the call and its backward pass\n%-10s %9s %9s %9s %10s "
      "%11s %11s %11s  %s\n",
      "workload", "cold", "warm", "later", "cold/warm", "cold step", "warm step", "later step",
      "LLVM loaded when warm");
  std::vector<Row> rows;
  for (const auto& name : settings.workloads.empty() ? workload_names(settings.set) : settings.workloads) {
    rows.push_back(measure_row(settings, name));
    print_row(rows.back());
  }
  const TemporaryFolder folder;
  const auto lookup = run_self("--measure lookup", "ANTEGRAD_CACHE_DIR='" + folder.path() + "/cache'");
  std::printf("a lookup that finds nothing: %.3f ms\n", lookup.at("miss_ms"));
  if (!settings.json.empty()) write_json(rows, settings.json);
}

int run(int argc, char** argv) {
  Settings settings;
  const std::map<std::string, WorkloadSet> sets{
      {"peers", WorkloadSet::Peers}, {"more", WorkloadSet::More}, {"all", WorkloadSet::All}};
  CLI::App app{"First calls in a new process, with an empty cache and with a filled one"};
  app.add_option("--set", settings.set, "which workloads: peers, more or all")
      ->transform(CLI::CheckedTransformer(sets));
  app.add_option("--workload", settings.workloads, "only these")
      ->check(CLI::IsMember(workload_names(WorkloadSet::All)));
  app.add_option("--threads", settings.threads, "of LibTorch")->check(CLI::PositiveNumber);
  app.add_option("--repeats", settings.repeats, "warm processes; the median is given")
      ->check(CLI::PositiveNumber);
  app.add_option("--json", settings.json, "file to write the rows to");
  app.add_option("--device", settings.device, "where the tensors are: cpu or cuda")
      ->check(CLI::IsMember({"cpu", "cuda"}));
  app.add_flag("--smoke", settings.smoke, "little data, one repeat: whether it runs, not how fast");
  app.add_option("--measure", settings.measure, "one measurement, in this process")
      ->check(CLI::IsMember({"start", "lookup"}));
  CLI11_PARSE(app, argc, argv);
  if (settings.smoke) settings.repeats = 1;
  if (settings.measure.empty()) {
    make_table(settings);
  } else {
    choose_device(settings.device);
    at::set_num_threads(settings.threads);
    settings.measure == "start" ? measure_start(settings) : measure_lookup();
  }
  return 0;
}

const NamedProgram kProgram("warm_start", run);

}  // namespace
}  // namespace antegrad::benchmarks
