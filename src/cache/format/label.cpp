#include "cache/format/label.h"

#include <algorithm>

namespace antegrad::cache {
namespace {

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

/// Parses lines "name value"; returns nothing when a line is invalid.
std::optional<std::vector<std::pair<std::string, std::string>>> parse_facts(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> facts;
  while (!text.empty()) {
    const auto end = text.find('\n');
    const auto line = text.substr(0, end);
    const auto space = line.find(' ');
    if (end == std::string_view::npos || space == std::string_view::npos || space == 0) return std::nullopt;
    facts.emplace_back(line.substr(0, space), line.substr(space + 1));
    text.remove_prefix(end + 1);
  }
  return facts;
}

}  // namespace

const std::string* Label::fact(std::string_view wanted) const {
  for (const auto& [fact_name, value] : facts)
    if (fact_name == wanted) return &value;
  return nullptr;
}

Entry labelled(const Label& label) {
  std::string facts;
  for (const auto& [fact_name, value] : label.facts) facts += fact_name + " " + one_line(value) + "\n";
  return {
      {{"kind", label.kind}, {"name", label.name}, {"key", label.key.store()}, {"facts", std::move(facts)}}};
}

std::optional<Label> label_of(const Entry& entry) {
  const auto* kind = entry.find("kind");
  const auto* name = entry.find("name");
  const auto* key = entry.find("key");
  const auto* facts = entry.find("facts");
  if (kind == nullptr || name == nullptr || key == nullptr || facts == nullptr) return std::nullopt;
  auto loaded = Key::load(*key);
  auto parsed = parse_facts(*facts);
  if (!loaded || !parsed) return std::nullopt;
  return Label{*kind, *name, std::move(*loaded), std::move(*parsed)};
}

}  // namespace antegrad::cache
