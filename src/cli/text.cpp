#include "cli/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace antegrad::cli {

std::string columns(const std::vector<Row>& rows, const std::vector<size_t>& right) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string out;
  for (const auto& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const bool is_right = std::find(right.begin(), right.end(), i) != right.end();
      if (i > 0) line += "  ";
      line += is_right ? fmt::format("{:>{}}", row[i], widths[i]) : fmt::format("{:<{}}", row[i], widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

std::string size_text(uint64_t bytes) {
  constexpr std::array kUnits = {"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  auto value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  while (value >= 1023.95 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string age_text(int64_t seconds) {
  constexpr int64_t kMinute = 60, kHour = 60 * kMinute, kDay = 24 * kHour;
  if (seconds < 0) return "in the future";
  if (seconds < 2 * kMinute) return fmt::format("{} s", seconds);
  if (seconds < 2 * kHour) return fmt::format("{} min", seconds / kMinute);
  if (seconds < 2 * kDay) return fmt::format("{} h", seconds / kHour);
  return fmt::format("{} d", seconds / kDay);
}

std::string printable(std::string_view text) {
  std::string out(text);
  unsigned char last = 0;
  for (auto& c : out) {
    const auto byte = static_cast<unsigned char>(c);
    const bool low = byte < 0x20 && c != '\n' && c != '\t';
    // U+0080 to U+009F are also control characters.
    const bool high = last == 0xc2 && byte >= 0x80 && byte < 0xa0;
    if (low || high || byte == 0x7f) c = '?';
    last = byte;
  }
  return out;
}

std::string one_line(std::string_view text) {
  auto out = printable(text);
  for (auto& c : out) {
    if (c == '\n' || c == '\t') c = ' ';
  }
  return out;
}

std::string first_line(std::string_view text) { return one_line(text.substr(0, text.find('\n'))); }

std::string first_sentence(std::string_view text) {
  auto line = first_line(text);
  line.erase(std::min(line.find(". "), line.size()));
  if (line.ends_with('.')) line.pop_back();
  return line;
}

std::string count_text(uint64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string time_text(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.1f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.{}f} ms", seconds * 1e3, seconds < 0.1 ? 2 : 0);
  return fmt::format("{:.2f} s", seconds);
}

}  // namespace antegrad::cli
