#pragma once

namespace antegrad::benchmarks {

/// One of the programs that are linked into one executable; main.cpp runs the one that it is invoked as.
struct NamedProgram {
  NamedProgram(const char* name, int (*run)(int argc, char** argv));
};

}  // namespace antegrad::benchmarks
