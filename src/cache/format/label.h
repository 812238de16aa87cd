#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cache/format/entry.h"
#include "cache/format/key.h"

namespace antegrad::cache {

/// What every entry says of itself, whatever else is in it. The first sections of an entry:
///     "kind"   one word
///     "name"   of the function, where there is one; may be empty
///     "key"    Key::store() of the key that it is found by
///     "facts"  lines "name value" for people: times, sizes
struct Label {
  std::string kind;  ///< "function", "code", "kernel", "sizes", "fact"
  std::string name;
  Key key;
  std::vector<std::pair<std::string, std::string>> facts;

  const std::string* fact(std::string_view wanted) const;  ///< null: there is none

  friend bool operator==(const Label&, const Label&) = default;
};

/// An entry that has nothing but its label. Line breaks in facts become spaces.
Entry labelled(const Label& label);
/// Nothing when the entry has no label, or one that is no label.
std::optional<Label> label_of(const Entry& entry);

}  // namespace antegrad::cache
