#include "cache/directory/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "cache/format/line_diff.h"

namespace antegrad::cache {
namespace {

bool used_later(const EntryInfo& a, const EntryInfo& b) {
  return std::tie(a.used, a.nanoseconds, a.address) > std::tie(b.used, b.nanoseconds, b.address);
}

}  // namespace

std::optional<Found> nearest_key(DirectoryStore& store, const Key& key, std::string_view kind,
                                 std::string_view name, int64_t until) {
  const auto digest = key.digest();
  auto entries = store.list();
  std::erase_if(entries, [&](const auto& info) { return info.used > until || info.address.key == digest; });
  std::sort(entries.begin(), entries.end(), used_later);
  if (entries.size() > kMaxKeysCompared) entries.resize(kMaxKeysCompared);
  std::optional<Found> best;
  for (const auto& info : entries) {
    auto label = label_of(store.get(info.address).entry);
    if (!label || label->kind != kind || label->name != name || label->key.digest() == digest) continue;
    const auto equal = equal_fields(label->key, key);
    if (!best || equal > best->equal) best = Found{info, std::move(*label), equal};
  }
  return best;
}

std::string explain(const Key& before, const Key& after) {
  return explain(before, after, difference(before, after));
}

std::string explain(const Key& before, const Key& after, const std::vector<FieldDifference>& differences) {
  if (differences.empty()) return "the keys are equal\n";
  const auto equal = equal_fields(before, after);
  return fmt::format("{} of {} fields are equal; what differs:\n{}", equal,
                     std::max(before.fields().size(), after.fields().size()), to_text(differences));
}

std::vector<FieldDifference> difference(const Key& before, const Key& after, const Entry& entry_before,
                                        const Entry& entry_after) {
  auto out = difference(before, after);
  const auto* old_text = entry_before.find(kGraphText);
  const auto* new_text = entry_after.find(kGraphText);
  if (old_text == nullptr || new_text == nullptr) return out;
  for (auto& field : out)
    if (field.name == kGraphField && *old_text != *new_text) field.text = line_diff(*old_text, *new_text);
  return out;
}

}  // namespace antegrad::cache
