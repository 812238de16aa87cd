#pragma once

namespace antegrad::benchmarks {

/// Prints how long the first step of a chain of layers takes, by the number of nodes of its joint graph: with
/// layers that are alike, whose kernels are compiled once, and with layers that all differ in a number.
void print_compile_times(bool smoke);

}  // namespace antegrad::benchmarks
