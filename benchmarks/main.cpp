#include "main.h"

#include <cerrno>
#include <cstdio>
#include <exception>

int main(int argc, char** argv) {
  try {
    return antegrad::benchmarks::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", program_invocation_short_name, error.what());
    return 1;
  }
}
