#include "cli/progress_bar.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace antegrad::cli {
namespace {

constexpr size_t kWidth = 40;
constexpr auto kPatience = std::chrono::seconds(1);
constexpr auto kInterval = std::chrono::milliseconds(100);
constexpr const char* kEraseLine = "\r\033[K";

}  // namespace

ProgressBar::ProgressBar(std::string what)
    : what_(std::move(what)), terminal_(::isatty(STDERR_FILENO) == 1), next_(Clock::now() + kPatience) {}

ProgressBar::~ProgressBar() {
  if (drawn_) std::fputs(kEraseLine, stderr);
}

void ProgressBar::operator()(size_t done, size_t all) {
  if (!terminal_) return;
  const auto now = Clock::now();
  if (now < next_) return;
  next_ = now + kInterval;
  drawn_ = true;
  std::fputs((kEraseLine + progress_line(what_, done, all)).c_str(), stderr);
  std::fflush(stderr);
}

std::string progress_line(const std::string& what, size_t done, size_t all) {
  const auto share = all == 0 ? 1.0 : std::min(1.0, static_cast<double>(done) / static_cast<double>(all));
  const auto full = static_cast<size_t>(share * kWidth);
  return fmt::format("{} [{}{}] {:.0f}% {}/{}", what, std::string(full, '#'), std::string(kWidth - full, '.'),
                     share * 100, done, all);
}

}  // namespace antegrad::cli
