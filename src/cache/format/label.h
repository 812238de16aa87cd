#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cache/format/entry.h"
#include "cache/format/key.h"

namespace antegrad::cache {

/// The self-description that every entry starts with, in the sections
///     "kind"   one word
///     "name"   of the function, if there is one; may be empty
///     "key"    Key::store() of the entry's key
///     "facts"  lines "name value" for people: times, sizes
struct Label {
  std::string kind;  ///< "function", "code", "kernel" or "sizes"
  std::string name;
  Key key;
  std::vector<std::pair<std::string, std::string>> facts;

  const std::string* fact(std::string_view wanted) const;  ///< null when there is no such fact

  friend bool operator==(const Label&, const Label&) = default;
};

/// Returns an entry that consists of its label. Line breaks in facts become spaces.
Entry labelled(const Label& label);
/// Returns nothing when the entry has no label, or an invalid one.
std::optional<Label> label_of(const Entry& entry);

}  // namespace antegrad::cache
