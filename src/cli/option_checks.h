#pragma once
#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

// Validators for option values. Help texts describe the values themselves, so validators have no description.
namespace antegrad::cli {

/// Accepts digits only, such as "12": no sign, no other base, no fraction.
CLI::Validator whole_number(uint64_t least = 0, uint64_t most = std::numeric_limits<uint64_t>::max());
/// Accepts a number in this range, such as "0.5".
CLI::Validator real_number(double least, double most);
CLI::Validator one_of(const std::vector<std::string>& words);
/// Accepts "500M", "2G", "1048576": not negative, at most 64 bits.
CLI::Validator size_in_bytes();
/// Makes all commands reject a flag with a value (--json=3).
void refuse_values_of_flags(CLI::App& app);

/// Rejects an empty name, which usually comes from an unset shell variable.
CLI::Validator not_empty();

}  // namespace antegrad::cli
