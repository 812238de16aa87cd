#include "fuzz/driver.h"

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <random>

namespace antegrad::fuzz {

uint64_t from_environment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

std::optional<Seeds> fresh_seeds() {
  const auto count = from_environment("ANTEGRAD_FUZZ_COUNT", 0);
  if (count == 0) return std::nullopt;
  return Seeds{from_environment("ANTEGRAD_FUZZ_SEED", std::random_device{}()), count};
}

void say_checked(const std::string& family, uint64_t programs, uint64_t failures) {
  std::cout << "checked " << family << " " << programs << " programs, " << failures << " failures"
            << std::endl;
}

std::string saved(const std::string& family, uint64_t seed, const std::string& program) {
  if (const char* folder = std::getenv("ANTEGRAD_FUZZ_SAVE"))
    std::ofstream(std::string(folder) + "/" + family + "_" + std::to_string(seed) + ".cpp") << program;
  return program;
}

}  // namespace antegrad::fuzz
