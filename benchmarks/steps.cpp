// Training steps of the workloads, compiled and eager, with --whole up to the update: the first call, the
// median step, peak memory. Prints a table and writes the numbers as JSON. The program runs itself for every
// measurement (--measure).
#include <ATen/Parallel.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>

#include "child_process.h"
#include "main.h"
#include "step_measurements.h"
#include "timing.h"
#include "training_step.h"

namespace antegrad::benchmarks {
namespace {

struct Settings {
  WorkloadSet set = WorkloadSet::Peers;
  std::vector<std::string> workloads;  ///< all of the set if empty
  double seconds = 4;
  int threads = 2;
  int first_calls = 3;
  bool smoke = false;
  bool whole = false;
  std::string json;
  std::string measure;  ///< what this process is to measure of one workload; empty for the table
  std::string device = "cpu";
  Scale scale() const { return smoke ? Scale::Small : device == "cuda" ? Scale::Cuda : Scale::Full; }
  StepKind kind() const { return whole ? StepKind::Whole : StepKind::Gradients; }
  std::vector<std::string> names() const {
    if (!workloads.empty()) return workloads;
    if (!whole) return workload_names(set);
    auto names = workload_names(WorkloadSet::Peers);
    if (device == "cpu") names.insert(names.end(), {"vae", "lstm"});  // have no sizes for a CUDA device
    return names;
  }
};

// --- the measuring process: prints "field number" lines

void measure(const Settings& settings) {
  choose_device(settings.device);
  at::set_num_threads(settings.threads);
  const auto& name = settings.workloads.at(0);
  if (settings.measure == "first") {
    print_field("first_call_s", measure_first_call(name, settings.scale(), settings.kind()));
  } else if (settings.measure == "steps") {
    const auto times = measure_steps(name, settings.scale(), settings.kind(), settings.seconds);
    print_field("step_ms", times.compiled_ms);
    print_field("eager_step_ms", times.eager_ms);
    print_field("faults", times.compiled_faults);
    print_field("eager_faults", times.eager_faults);
    print_field("flops", times.work.flops);
    print_field("bytes", times.work.bytes);
    print_field("product_gflops", times.rates.product_gflops);
    print_field("copy_gbs", times.rates.copy_gbs);
  } else if (settings.measure == "kept") {
    const auto times =
        measure_steps(name, settings.scale(), settings.kind(), settings.seconds, Allocator::Keeping);
    print_field("step_ms", times.compiled_ms);
    print_field("eager_step_ms", times.eager_ms);
  } else {
    const auto peaks = peaks_of_steps(name, settings.scale(), settings.kind());
    print_field("peak_mb", peaks.compiled_mib);
    print_field("eager_peak_mb", peaks.eager_mib);
  }
}

// --- the parent process

Fields run_measurement(const Settings& settings, const std::string& name, const std::string& what,
                       const std::string& environment = "ANTEGRAD_CACHE=off") {
  std::ostringstream arguments;
  arguments << "--measure " << what << " --workload " << name << " --threads " << settings.threads
            << " --seconds " << settings.seconds << " --device " << settings.device
            << (settings.whole ? " --whole" : "") << (settings.smoke ? " --smoke" : "");
  return run_self(arguments.str(), environment);
}

struct Row {
  std::string workload;
  double first_call_s = 0, warm_s = 0, step_ms = 0, eager_step_ms = 0, peak_mb = 0, eager_peak_mb = 0;
  double faults = 0, eager_faults = 0, kept_step_ms = 0, kept_eager_step_ms = 0;
  Work work;
  Limits::Rates rates;
  double arithmetic_ms() const { return work.flops / rates.product_gflops * 1e-6; }
  double memory_ms() const { return work.bytes / rates.copy_gbs * 1e-6; }
  double bound_ms() const { return std::max(arithmetic_ms(), memory_ms()); }
  const char* bound_by() const { return arithmetic_ms() >= memory_ms() ? "arithmetic" : "memory"; }
  double bound_share() const { return bound_ms() / step_ms; }
  double kept_ratio() const { return kept_eager_step_ms / kept_step_ms; }
  double step_ratio() const { return eager_step_ms / step_ms; }
  double peak_ratio() const { return peak_mb / eager_peak_mb; }
};

/// The first step of a process that finds the code in a cache, which another one has filled.
double measure_warm(const Settings& settings, const std::string& name) {
  const TemporaryFolder folder;
  const auto environment = "ANTEGRAD_CACHE=on ANTEGRAD_CACHE_DIR='" + folder.path() + "/cache'";
  run_measurement(settings, name, "first", environment);
  std::vector<double> first_calls;
  for (int i = 0; i < settings.first_calls; ++i)
    first_calls.push_back(run_measurement(settings, name, "first", environment).at("first_call_s"));
  return median(first_calls);
}

Row measure_row(const Settings& settings, const std::string& name) {
  Row row;
  row.workload = name;
  std::vector<double> first_calls;
  for (int i = 0; i < settings.first_calls; ++i)
    first_calls.push_back(run_measurement(settings, name, "first").at("first_call_s"));
  row.first_call_s = median(first_calls);
  if (settings.whole) row.warm_s = measure_warm(settings, name);
  const auto times = run_measurement(settings, name, "steps");
  row.step_ms = times.at("step_ms");
  row.eager_step_ms = times.at("eager_step_ms");
  row.faults = times.at("faults");
  row.eager_faults = times.at("eager_faults");
  row.work = {times.at("flops"), times.at("bytes")};
  row.rates = {times.at("product_gflops"), times.at("copy_gbs")};
  const auto kept = run_measurement(settings, name, "kept");
  row.kept_step_ms = kept.at("step_ms");
  row.kept_eager_step_ms = kept.at("eager_step_ms");
  const auto peaks = run_measurement(settings, name, "memory");
  row.peak_mb = peaks.at("peak_mb");
  row.eager_peak_mb = peaks.at("eager_peak_mb");
  return row;
}

void print_head(bool whole) {
  std::printf("%-12s %13s ", "workload", "first call, s");
  if (whole) std::printf("%8s ", "warm, s");
  std::printf("%10s %10s %11s %9s %7s %13s %9s %9s %10s %10s %-10s %5s\n", "step, ms", "eager, ms",
              "eager/step", "kept/step", "faults", "eager faults", "peak, MB", "eager, MB", "peak/eager",
              "bound, ms", "by", "share");
}

void print_row(const Row& row, bool whole) {
  std::printf("%-12s %13.3f ", row.workload.c_str(), row.first_call_s);
  if (whole) std::printf("%8.3f ", row.warm_s);
  std::printf("%10.3f %10.3f %10.2fx %8.2fx %7.0f %13.0f %9.3f %9.3f %10.2f %10.3f %-10s %4.0f%%\n",
              row.step_ms, row.eager_step_ms, row.step_ratio(), row.kept_ratio(), row.faults,
              row.eager_faults, row.peak_mb, row.eager_peak_mb, row.peak_ratio(), row.bound_ms(),
              row.bound_by(), 100 * row.bound_share());
  std::fflush(stdout);
}

void print_mean(const std::vector<Row>& rows, bool whole) {
  double logarithms = 0;
  for (const auto& row : rows) logarithms += std::log(row.step_ratio());
  std::printf("%-12s %*.2fx\n", "geo. mean", whole ? 56 : 47,
              std::exp(logarithms / static_cast<double>(rows.size())));
}

void write_row(const Row& row, bool whole, std::ostream& out) {
  out << R"(  {"workload": ")" << row.workload << R"(", "first_call_s": )" << row.first_call_s;
  if (whole) out << R"(, "warm_s": )" << row.warm_s;
  out << R"(, "step_ms": )" << row.step_ms << R"(, "eager_step_ms": )" << row.eager_step_ms << ", "
      << (whole ? R"("ratio")" : R"("step_ratio")") << ": " << row.step_ratio() << R"(, "kept_step_ms": )"
      << row.kept_step_ms << R"(, "kept_eager_step_ms": )" << row.kept_eager_step_ms << R"(, "faults": )"
      << row.faults << R"(, "eager_faults": )" << row.eager_faults << R"(, "peak_mb": )" << row.peak_mb
      << R"(, "eager_peak_mb": )" << row.eager_peak_mb << R"(, "flops": )" << row.work.flops
      << R"(, "bytes": )" << row.work.bytes << R"(, "product_gflops": )" << row.rates.product_gflops
      << R"(, "copy_gbs": )" << row.rates.copy_gbs << R"(, "arithmetic_ms": )" << row.arithmetic_ms()
      << R"(, "memory_ms": )" << row.memory_ms() << R"(, "bound_share": )" << row.bound_share() << "}";
}

void write_json(const std::vector<Row>& rows, const Settings& settings) {
  const auto& path = settings.json;
  const auto folder = std::filesystem::path(path).parent_path();
  if (!folder.empty()) std::filesystem::create_directories(folder);
  std::ofstream out(path);
  out.precision(6);
  const char* separator = "";
  out << "[\n";
  for (const auto& row : rows) {
    out << separator;
    write_row(row, settings.whole, out);
    separator = ",\n";
  }
  out << "\n]\n";
  if (!out.flush()) throw std::runtime_error("cannot write " + path);
}

/// Returns whether everything could be measured. A workload that fails does not keep the others out of the
/// table.
bool make_table(const Settings& settings) {
  const auto names = settings.names();
  print_head(settings.whole);
  std::vector<Row> rows;
  for (const auto& name : names) {
    try {
      rows.push_back(measure_row(settings, name));
      print_row(rows.back(), settings.whole);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s: %s\n", name.c_str(), error.what());
    }
  }
  if (!rows.empty()) print_mean(rows, settings.whole);
  if (!settings.json.empty()) write_json(rows, settings);
  return rows.size() == names.size();
}

int run(int argc, char** argv) {
  Settings settings;
  const std::map<std::string, WorkloadSet> sets{
      {"peers", WorkloadSet::Peers}, {"more", WorkloadSet::More}, {"all", WorkloadSet::All}};
  CLI::App app{"Training steps of the workloads, compiled beside eager"};
  app.add_option("--set", settings.set, "which workloads: peers, more or all")
      ->transform(CLI::CheckedTransformer(sets));
  app.add_option("--workload", settings.workloads, "only these")
      ->check(CLI::IsMember(workload_names(WorkloadSet::All)));
  app.add_option("--seconds", settings.seconds, "how long the steps of a workload are timed");
  app.add_option("--threads", settings.threads, "of LibTorch")->check(CLI::PositiveNumber);
  app.add_option("--first-calls", settings.first_calls, "processes whose first calls are timed")
      ->check(CLI::PositiveNumber);
  app.add_option("--json", settings.json, "file to write the rows to");
  app.add_option("--device", settings.device, "where the tensors are: cpu or cuda")
      ->check(CLI::IsMember({"cpu", "cuda"}));
  app.add_flag("--smoke", settings.smoke, "little data and few steps: whether it runs, not how fast");
  app.add_flag("--whole", settings.whole, "with clipping and the update by AdamW");
  app.add_option("--measure", settings.measure, "one measurement of one workload, in this process")
      ->check(CLI::IsMember({"first", "steps", "kept", "memory"}))
      ->needs("--workload");
  CLI11_PARSE(app, argc, argv);
  if (settings.smoke) {
    settings.seconds = 0;
    settings.first_calls = 1;
  }
  if (settings.measure.empty()) return make_table(settings) ? 0 : 1;
  measure(settings);
  return 0;
}

const NamedProgram kProgram("bench_steps", run);

}  // namespace
}  // namespace antegrad::benchmarks
