#pragma once
#include <string>
#include <string_view>

/// Environment variables of the library's options. docs/options.md has them all.
namespace antegrad::inline util::environment {

/// Returns the value of a variable; empty when it is not set.
std::string variable(const char* name);
/// Sets the field to what the variable says, if it is set. Throws Error(InvalidArgument) unless that is 0 or
/// 1.
void read_flag(const char* name, bool& field);
/// Throws Error(InvalidArgument): the value is not what was `wanted`.
[[noreturn]] void reject(const char* name, std::string_view value, const char* wanted);

}  // namespace antegrad::inline util::environment
