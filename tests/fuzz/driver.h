#pragma once
#include <cstdint>
#include <optional>
#include <string>

/// What all families of random programs have in common: which seeds to search, and how to report.
namespace antegrad::fuzz {

/// Returns a number from the environment.
uint64_t from_environment(const char* name, uint64_t otherwise);

struct Seeds {
  uint64_t first = 0, count = 0;
};
/// Returns seeds that no test names: ANTEGRAD_FUZZ_COUNT of them from ANTEGRAD_FUZZ_SEED on (random if not
/// set). Nothing without ANTEGRAD_FUZZ_COUNT: regular tests always use the same seeds.
std::optional<Seeds> fresh_seeds();

/// Prints how many programs of a family were checked, for `make fuzz`.
void say_checked(const std::string& family, uint64_t programs, uint64_t failures);
/// Writes a program that shows a failure to the folder ANTEGRAD_FUZZ_SAVE, if that is set. Returns the
/// program.
std::string saved(const std::string& family, uint64_t seed, const std::string& program);

}  // namespace antegrad::fuzz
