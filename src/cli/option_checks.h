#pragma once
#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

// What values of options may be. The help says it in words of its own, so checks have no description.
namespace antegrad::cli {

/// "12", and nothing else: no sign, no other base, no fraction.
CLI::Validator whole_number(uint64_t least = 0, uint64_t most = std::numeric_limits<uint64_t>::max());
/// A number, such as "0.5", between these.
CLI::Validator real_number(double least, double most);
CLI::Validator one_of(const std::vector<std::string>& words);
/// "500M", "2G", "1048576"; not negative, and what fits into 64 bits.
CLI::Validator size_in_bytes();
/// A flag with a value (--json=3) is refused, in all commands.
void refuse_values_of_flags(CLI::App& app);

/// Something is there: an empty name is a variable of the shell that was not set.
CLI::Validator not_empty();

}  // namespace antegrad::cli
