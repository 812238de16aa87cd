#pragma once
#include <string>
#include <string_view>

namespace antegrad::cli {

/// All bytes of a file; "-" is standard input. Throws Error(Io).
std::string read_file(const std::string& path);
/// The file has its old contents or all of its new ones. Throws Error(Io).
void write_file(const std::string& where, const std::string& path, std::string_view bytes);
/// Throws Error(Io) when standard output does not take it all.
void write_output(const std::string& text);

}  // namespace antegrad::cli
