#include "cli/option_checks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "cli/text.h"

namespace antegrad::cli {
namespace {

CLI::Validator quiet(std::function<std::string(std::string&)> check) {
  return CLI::Validator(std::move(check), "");
}

template <class Number>
std::optional<Number> parse(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Returns the unit as a power of 1024; nothing for an unknown unit.
std::optional<int> power_of(std::string_view unit) {
  constexpr std::string_view kLetters = "kmgtp";
  if (unit.empty() || unit == "b") return 0;
  const auto letter = kLetters.find(unit.front());
  const auto rest = unit.substr(1);
  if (letter == kLetters.npos || !(rest.empty() || rest == "b" || rest == "ib")) return std::nullopt;
  return static_cast<int>(letter) + 1;
}

}  // namespace

CLI::Validator whole_number(uint64_t least, uint64_t most) {
  return quiet([least, most](std::string& text) -> std::string {
    const auto value = parse<uint64_t>(text);
    if (value && *value >= least && *value <= most) return {};
    if (most == std::numeric_limits<uint64_t>::max())
      return fmt::format("\"{}\" is not a whole number from {} on", one_line(text), least);
    return fmt::format("\"{}\" is not a whole number from {} to {}", one_line(text), least, most);
  });
}

CLI::Validator real_number(double least, double most) {
  return quiet([least, most](std::string& text) -> std::string {
    const auto value = parse<double>(text);
    if (value && std::isfinite(*value) && *value >= least && *value <= most) return {};
    return fmt::format("\"{}\" is not a number from {} to {}", one_line(text), least, most);
  });
}

CLI::Validator one_of(const std::vector<std::string>& words) {
  return quiet([words](std::string& text) -> std::string {
    if (std::find(words.begin(), words.end(), text) != words.end()) return {};
    return fmt::format("\"{}\" is not {}", one_line(text), fmt::join(words, ", or "));
  });
}

CLI::Validator size_in_bytes() {
  return quiet([](std::string& text) -> std::string {
    const auto wrong = fmt::format("\"{}\" is not a size such as 500M, 2G or 1048576", one_line(text));
    const auto digits = std::min(text.find_first_not_of("0123456789"), text.size());
    const auto number = parse<uint64_t>(std::string_view(text).substr(0, digits));
    auto unit = text.substr(digits);
    unit.erase(0, unit.find_first_not_of(' '));
    for (auto& c : unit) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    const auto power = power_of(unit);
    if (!number || !power) return wrong;
    const int shift = 10 * *power;
    if (*number > std::numeric_limits<uint64_t>::max() >> shift) return wrong;
    text = std::to_string(*number << shift);
    return {};
  });
}

void refuse_values_of_flags(CLI::App& app) {
  for (auto* option : app.get_options())
    if (option->get_expected_max() == 0 && option->nonpositional()) option->disable_flag_override();
  for (auto* command : app.get_subcommands({})) refuse_values_of_flags(*command);
}

CLI::Validator not_empty() {
  return quiet([](std::string& text) -> std::string { return text.empty() ? "the name is empty" : ""; });
}

}  // namespace antegrad::cli
