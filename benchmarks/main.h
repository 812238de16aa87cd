#pragma once

namespace antegrad::benchmarks {

/// One of the programs that are compiled as one (main.cpp runs that by whose name it is called).
struct NamedProgram {
  NamedProgram(const char* name, int (*run)(int argc, char** argv));
};

}  // namespace antegrad::benchmarks
