#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// Text formatting for people.
namespace antegrad::cli {

using Row = std::vector<std::string>;
/// Prints columns two spaces apart; those listed in `right` (by index) are right-aligned, the others
/// left-aligned.
std::string columns(const std::vector<Row>& rows, const std::vector<size_t>& right);

/// "512 B", "1.5 KiB", "5.0 GiB".
std::string size_text(uint64_t bytes);
/// "12 s", "5 min", "3 h", "40 d"; "in the future" for negative ones.
std::string age_text(int64_t seconds);
/// "1 kernel", "2 kernels".
std::string count_text(uint64_t count, std::string_view what);
/// "12.3 us", "4.56 ms", "1.20 s".
std::string time_text(double seconds);
/// Replaces control characters other than line breaks and tabs by "?". Entries may be untrusted and must not
/// send control sequences to the terminal.
std::string printable(std::string_view text);
/// Like printable(), on one line.
std::string one_line(std::string_view text);
/// Returns the first line, printable.
std::string first_line(std::string_view text);
/// Returns the part of the first line before the first full stop.
std::string first_sentence(std::string_view text);

}  // namespace antegrad::cli
