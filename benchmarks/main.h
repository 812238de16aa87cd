#pragma once

namespace antegrad::benchmarks {

/// What a benchmark of its own does; main.cpp calls it.
int run(int argc, char** argv);

}  // namespace antegrad::benchmarks
