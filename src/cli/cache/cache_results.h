#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cache/directory/directory_store.h"
#include "cache/format/key.h"
#include "cache/format/label.h"
#include "cache/layers/bundle.h"

// What the cache commands find out, before it is a table or JSON.
namespace antegrad::cli {

struct ListedEntry {
  cache::EntryInfo info;
  cache::Outcome outcome = cache::Outcome::Hit;
  std::string reason;       ///< why it cannot be read
  cache::Label label;       ///< empty when it cannot be read, or says nothing of itself
  bool shares_key = false;  ///< other entries have the same key: the variant tells them apart
};

struct KindCount {
  uint64_t entries = 0;
  uint64_t bytes = 0;
};

struct StatsResult {
  std::string directory;
  uint64_t limit_bytes = 0;  ///< of the library, unless its settings say otherwise
  int64_t now = 0;
  cache::StoreStats stats;
  std::map<std::string, KindCount> kinds;  ///< only when asked for: every entry is read
};

struct ListResult {
  int64_t now = 0;
  std::vector<ListedEntry> entries;
  uint64_t more = 0;      ///< entries that were not looked at, because of a limit
  bool filtered = false;  ///< and some of them may not have been listed anyway
};

struct ShownEntry {
  ListedEntry entry;
  std::vector<std::pair<std::string, uint64_t>> sections;  ///< name and bytes
};

struct ShowResult {
  int64_t now = 0;
  std::vector<ShownEntry> entries;  ///< all of one key; at least one
};

struct VerifyResult {
  std::string directory;
  cache::VerifyReport report;
};

struct RemoveResult {
  std::string directory;
  cache::Removed removed;
};

struct ExportResult {
  std::string file;
  uint64_t bytes = 0;
  cache::ExportReport report;
};

struct ImportResult {
  std::string file;
  cache::ImportReport report;
};

struct ExplainResult {
  std::string before, after;  ///< digests
  size_t equal = 0, fields = 0;
  std::vector<cache::FieldDifference> differences;
  std::string text;  ///< cache::explain()
};

}  // namespace antegrad::cli
