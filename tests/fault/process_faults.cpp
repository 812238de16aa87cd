// process_faults exit|fork|memory NAME NUMBER
#include <cstdlib>
#include <cstring>

#include "process_faults.h"

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const std::string kind = argv[1], name = argv[2];
  const int number = std::atoi(argv[3]);
  if (kind == "exit") return antegrad::test::run_exit_program(name, number);
  if (kind == "fork") return antegrad::test::run_fork_program(name, number);
  return antegrad::test::run_memory_program(number);
}
