// antegrad_benchmarks: what calls.cpp, capture.cpp, partition.cpp and training.cpp register with Google Benchmark.
#include <benchmark/benchmark.h>

#include "main.h"

namespace antegrad::benchmarks {
namespace {

int run_registered(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}

const NamedProgram kProgram("antegrad_benchmarks", run_registered);

}  // namespace
}  // namespace antegrad::benchmarks
