#pragma once
#include <cstdint>
#include <optional>
#include <string>

/// What all families of random programs have in common: where to search, and what is said of it.
namespace antegrad::fuzz {

/// A number from the environment.
uint64_t from_environment(const char* name, uint64_t otherwise);

struct Seeds {
  uint64_t first = 0, count = 0;
};
/// Seeds that no test names: ANTEGRAD_FUZZ_COUNT of them, from ANTEGRAD_FUZZ_SEED on (random when that is not
/// set). Nothing without the former: tests that always run use the same seeds always.
std::optional<Seeds> fresh_seeds();

/// Says how many programs of a family were checked, for `make fuzz`.
void say_checked(const std::string& family, uint64_t programs, uint64_t failures);
/// Writes a program that shows a failure to ANTEGRAD_FUZZ_SAVE, a folder, if that is set. The text comes
/// back.
std::string saved(const std::string& family, uint64_t seed, const std::string& program);

}  // namespace antegrad::fuzz
