#pragma once
#include <string>
#include <string_view>

namespace antegrad::cli {

/// Returns the contents of a file; "-" is standard input. Throws Error(Io).
std::string read_file(const std::string& path);
/// Writes a file atomically. Throws Error(Io).
void write_file(const std::string& where, const std::string& path, std::string_view bytes);
/// Throws Error(Io) when standard output cannot be written completely.
void write_output(const std::string& text);

}  // namespace antegrad::cli
