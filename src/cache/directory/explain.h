#pragma once
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "cache/directory/directory_store.h"
#include "cache/format/label.h"

namespace antegrad::cache {

struct Found {
  EntryInfo info;
  Label label;
  size_t equal = 0;  ///< number of equal fields
};

/// The most entries that nearest_key() reads, most recently used first.
constexpr size_t kMaxKeysCompared = 4096;

/// Returns the entry of this kind and name whose key has the most fields in common with `key` without being
/// equal; of several, the one used last. Considers only entries last used up to `until`. Reading marks
/// entries as used, so open the store read-only for this.
std::optional<Found> nearest_key(DirectoryStore& store, const Key& key, std::string_view kind,
                                 std::string_view name, int64_t until = std::numeric_limits<int64_t>::max());

/// Describes the differences between two keys for people: how many fields differ, and to_text() of the
/// differences.
std::string explain(const Key& before, const Key& after);
std::string explain(const Key& before, const Key& after, const std::vector<FieldDifference>& differences);

/// Like difference() of the keys, except for the graph: keys hold long fields as hashes, but entries of
/// functions have their graph as text in a section, which is compared instead.
std::vector<FieldDifference> difference(const Key& before, const Key& after, const Entry& entry_before,
                                        const Entry& entry_after);
constexpr const char* kGraphField = "graph";
constexpr const char* kGraphText = "text";  ///< the name of the section

}  // namespace antegrad::cache
