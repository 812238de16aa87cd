#pragma once

namespace antegrad::benchmarks {

/// Prints how long the first step of a chain of layers takes, by the number of nodes in its joint graph: for
/// identical layers, whose kernels are compiled once, and for layers that each contain a different number.
void print_compile_times(bool smoke);

}  // namespace antegrad::benchmarks
