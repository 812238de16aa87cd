// Compile::Background: how much slower than eager calls are while code is being compiled.
#include <ATen/Parallel.h>
#include <antegrad/antegrad.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "main.h"
#include "timing.h"
#include "training_step.h"

namespace antegrad::benchmarks {
namespace {

void measure(const std::string& name, Scale scale) {
  const auto workload = make_workload(name, scale);
  const auto milliseconds_of = [](const auto& call) {
    const auto start = Clock::now();
    call();
    return nanoseconds_since(start) / 1e6;
  };
  std::vector<double> eager, waiting;
  for (int i = 0; i < 30; ++i)
    eager.push_back(milliseconds_of([&] { workload.loss(workload.parameters, workload.inputs); }));
  Options options;
  options.compile = Compile::Background;
  options.cache = Cache::Off;
  const auto compiled = compile_loss(workload, options);
  const auto start = Clock::now();
  for (uint64_t before = 0;; before = compiled.report().waiting_calls) {
    const auto took = milliseconds_of([&] { compiled(workload.parameters, workload.inputs); });
    if (compiled.report().waiting_calls == before) break;  // this call ran compiled
    waiting.push_back(took);
  }
  std::printf("%-8s %10.3f %10.3f %10.3f %10.3f %8zu %10.0f\n", name.c_str(), median(eager),
              *std::max_element(eager.begin(), eager.end()), waiting.front(), median(waiting), waiting.size(),
              nanoseconds_since(start) / 1e6);
}

int run(int argc, char** argv) {
  bool smoke = false;
  int threads = 1;
  CLI::App app{"Calls while code is made in the background, beside eager ones"};
  app.add_flag("--smoke", smoke, "little data: whether it runs, not how fast");
  app.add_option("--threads", threads, "of LibTorch; the compiler needs one more")
      ->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  at::set_num_threads(threads);
  std::printf("%-8s %10s %10s %10s %10s %8s %10s\n", "call, ms", "eager", "worst", "starts it", "waits",
              "calls", "until");
  for (const auto& name : workload_names(WorkloadSet::Peers))
    measure(name, smoke ? Scale::Small : Scale::Full);
  return 0;
}

const NamedProgram kProgram("bench_background", run);

}  // namespace
}  // namespace antegrad::benchmarks
