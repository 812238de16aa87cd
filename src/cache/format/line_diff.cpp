#include "cache/format/line_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace antegrad::cache {
namespace {

using Lines = std::vector<std::string_view>;

/// With more pairs of lines than this, everything between the common prefix and suffix is shown as replaced.
constexpr size_t kMaxPairs = 4'000'000;

Lines split(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    const auto end = text.find('\n');
    lines.push_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return lines;
}

/// The length of the longest common subsequence of two ranges of lines from (i, j) on.
class CommonLengths {
 public:
  CommonLengths(const Lines& a, const Lines& b) : width_(b.size() + 1), lengths_((a.size() + 1) * width_) {
    for (size_t i = a.size(); i-- > 0;) {
      for (size_t j = b.size(); j-- > 0;) {
        lengths_[i * width_ + j] = a[i] == b[j] ? at(i + 1, j + 1) + 1 : std::max(at(i + 1, j), at(i, j + 1));
      }
    }
  }
  uint32_t at(size_t i, size_t j) const { return lengths_[i * width_ + j]; }

 private:
  size_t width_;
  std::vector<uint32_t> lengths_;
};

class Printer {
 public:
  Printer(size_t first_line, size_t max_lines) : line_(first_line), max_lines_(max_lines) {}

  void removed(std::string_view text) {
    print('-', text);
    ++line_;
  }
  void added(std::string_view text) { print('+', text); }
  void same() {
    ++line_;
    together_ = true;
  }
  std::string finish() && {
    if (printed_ > max_lines_) out_ += fmt::format("… {} more lines\n", printed_ - max_lines_);
    return std::move(out_);
  }

 private:
  void print(char sign, std::string_view text) {
    if (++printed_ > max_lines_) return;
    if (together_) out_ += fmt::format("@ line {}\n", line_);
    together_ = false;
    out_ += fmt::format("{} {}\n", sign, text);
  }

  std::string out_;
  size_t line_;
  size_t max_lines_;
  size_t printed_ = 0;
  bool together_ = true;
};

void print_differences(const Lines& a, const Lines& b, Printer& printer) {
  const bool small = a.size() <= kMaxPairs / (b.size() + 1);
  const CommonLengths common(small ? a : Lines{}, small ? b : Lines{});
  size_t i = 0, j = 0;
  while (small && i < a.size() && j < b.size()) {
    if (a[i] == b[j]) {
      printer.same();
      ++i, ++j;
    } else if (common.at(i + 1, j) >= common.at(i, j + 1)) {
      printer.removed(a[i++]);
    } else {
      printer.added(b[j++]);
    }
  }
  while (i < a.size()) printer.removed(a[i++]);
  while (j < b.size()) printer.added(b[j++]);
}

}  // namespace

std::string line_diff(std::string_view before, std::string_view after, size_t max_lines) {
  Lines a = split(before), b = split(after);
  size_t head = 0, tail = 0;
  const size_t shorter = std::min(a.size(), b.size());
  while (head < shorter && a[head] == b[head]) ++head;
  while (tail < shorter - head && a[a.size() - 1 - tail] == b[b.size() - 1 - tail]) ++tail;
  const auto middle = [&](const Lines& lines) {
    return Lines(lines.begin() + static_cast<std::ptrdiff_t>(head),
                 lines.end() - static_cast<std::ptrdiff_t>(tail));
  };
  Printer printer(head + 1, max_lines);
  print_differences(middle(a), middle(b), printer);
  auto text = std::move(printer).finish();
  if (text.empty() && before != after) return "one of them ends in a line break, the other does not\n";
  return text;
}

}  // namespace antegrad::cache
