#include "toolchain/compile_error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <set>

namespace antegrad::toolchain {
namespace {

constexpr size_t kLinesAround = 2;
constexpr size_t kMaxExcerpts = 5;

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const auto end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return lines;
}

std::string_view trimmed(std::string_view text) {
  const auto end = text.find_last_not_of(" \n");
  return end == std::string_view::npos ? std::string_view() : text.substr(0, end + 1);
}

/// Returns the line numbers, from 1, of the first few "kernel.c:12:…" in the diagnostics.
std::set<size_t> named_lines(std::string_view diagnostics) {
  const auto mark = fmt::format("{}:", kSourceName);
  std::set<size_t> named;
  for (size_t at = diagnostics.find(mark); at != std::string_view::npos; at = diagnostics.find(mark, at)) {
    at += mark.size();
    size_t line = 0;
    std::from_chars(diagnostics.data() + at, diagnostics.data() + diagnostics.size(), line);
    if (line > 0 && named.size() < kMaxExcerpts) named.insert(line);
  }
  return named;
}

std::string numbered(const std::vector<std::string_view>& lines, size_t number, char mark) {
  return fmt::format("{} {:>4} | {}\n", mark, number, lines[number - 1]);
}

std::string excerpt(const std::vector<std::string_view>& lines, std::string_view diagnostics) {
  const auto named = named_lines(diagnostics);
  std::set<size_t> shown;
  for (const size_t line : named) {
    const size_t first = line > kLinesAround ? line - kLinesAround : 1;
    for (size_t i = first; i <= std::min(line + kLinesAround, lines.size()); ++i) shown.insert(i);
  }
  std::string text;
  size_t previous = 0;
  for (const size_t line : shown) {
    if (previous != 0 && line != previous + 1) text += "    …\n";
    text += numbered(lines, line, named.contains(line) ? '>' : ' ');
    previous = line;
  }
  return text;
}

std::string whole(const std::vector<std::string_view>& lines) {
  std::string text;
  for (size_t i = 1; i <= lines.size(); ++i) text += numbered(lines, i, ' ');
  return text;
}

}  // namespace

Error compile_error(const std::string& toolchain, const std::vector<std::string>& command,
                    std::string_view diagnostics, std::string_view source) {
  const auto lines = lines_of(source);
  const auto fact = fmt::format("{} does not compile a generated source:\n{}\n{}command: {}\n", toolchain,
                                trimmed(diagnostics), excerpt(lines, diagnostics), fmt::join(command, " "));
  const auto way_out = fmt::format(
      "Report it with this text; without compiled kernels (the Eager backend) the function runs meanwhile. "
      "Source:\n{}",
      whole(lines));
  return Error(ErrorCode::Compile, "toolchain", trimmed(fact), trimmed(way_out));
}

}  // namespace antegrad::toolchain
