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
  size_t equal = 0;  ///< fields in common
};

/// How many entries, of those used last, nearest_key() reads at most.
constexpr size_t kMaxKeysCompared = 4096;

/// The entry of this kind and name whose key has most fields in common with `key`, without being it; of
/// several, the one used last. Only entries last used up to `until`. Reads all entries, which marks them as
/// used: open the store read-only for this.
std::optional<Found> nearest_key(DirectoryStore& store, const Key& key, std::string_view kind,
                                 std::string_view name, int64_t until = std::numeric_limits<int64_t>::max());

/// What differs between two keys, for people: how many fields do, and to_text() of what differs.
std::string explain(const Key& before, const Key& after);
std::string explain(const Key& before, const Key& after, const std::vector<FieldDifference>& differences);

/// difference() of the keys. Keys hold long fields as hashes; entries of functions have their graph as text
/// in a section, which is compared instead.
std::vector<FieldDifference> difference(const Key& before, const Key& after, const Entry& entry_before,
                                        const Entry& entry_after);
constexpr const char* kGraphField = "graph";
constexpr const char* kGraphText = "text";  ///< the section

}  // namespace antegrad::cache
