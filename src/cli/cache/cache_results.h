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

// Results of the cache commands, before they are formatted as a table or JSON.
namespace antegrad::cli {

struct ListedEntry {
  cache::EntryInfo info;
  cache::Outcome outcome = cache::Outcome::Hit;
  std::string reason;       ///< why it cannot be read
  cache::Label label;       ///< empty when the entry cannot be read or has no label
  bool shares_key = false;  ///< other entries have the same key and differ in the variant
};

struct KindCount {
  uint64_t entries = 0;
  uint64_t bytes = 0;
};

struct StatsResult {
  std::string directory;
  uint64_t limit_bytes = 0;  ///< the library's default; programs may configure another
  int64_t now = 0;
  cache::StoreStats stats;
  std::map<std::string, KindCount> kinds;  ///< only on request, because every entry has to be read
};

struct ListResult {
  int64_t now = 0;
  std::vector<ListedEntry> entries;
  uint64_t more = 0;      ///< entries that were not examined because of a limit
  bool filtered = false;  ///< with a filter: some of `more` would not have been listed
};

struct ShownEntry {
  ListedEntry entry;
  std::vector<std::pair<std::string, uint64_t>> sections;  ///< name and bytes
};

struct ShowResult {
  int64_t now = 0;
  std::vector<ShownEntry> entries;  ///< all entries of one key; at least one
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
  std::string text;  ///< as returned by cache::explain()
};

}  // namespace antegrad::cli
