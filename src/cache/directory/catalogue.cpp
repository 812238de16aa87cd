#include "cache/directory/catalogue.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <tuple>

namespace antegrad::cache {
namespace {

constexpr uint64_t kBlock = 4096;
constexpr int64_t kHour = 3600;

bool is_folder_name(std::string_view name) {
  const auto digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return name.size() == 2 && digit(name[0]) && digit(name[1]);
}

void read_folder(FileSystem& files, const Handle& folder, const std::string& name, Catalogue& out) {
  std::vector<std::string> names;
  if (const int result = files.list(folder.number(), names); result < 0) {
    out.problems.push_back(fmt::format("the folder {} cannot be read: {}", name, error_text(result)));
  }
  for (const auto& file : names) {
    FileStatus status;
    const int result = files.status_at(folder.number(), file, status);
    if (result == -ENOENT) continue;
    if (result < 0) {
      out.problems.push_back(fmt::format("cannot look at {}/{}: {}", name, file, error_text(result)));
    } else if (const auto address = Address::parse(name + file); address && status.regular) {
      out.entries.push_back({*address, status.size, status.modified, status.nanoseconds});
    } else if (is_temporary_name(file) && status.regular) {
      out.leftovers.push_back({name, file, status.size, status.modified});
    } else {
      ++out.strangers;
    }
  }
}

}  // namespace

std::string folder_name(const Digest& key) { return key.hex().substr(0, 2); }

std::string file_name(const Address& address) { return address.to_text().substr(2); }

Catalogue read_catalogue(FileSystem& files, const Handle& root, const FolderRules& rules) {
  Catalogue out;
  std::vector<std::string> names;
  if (const int result = files.list(root.number(), names); result < 0) {
    out.problems.push_back("the directory cannot be read: " + error_text(result));
  }
  for (const auto& name : names) {
    if (!is_folder_name(name)) {
      ++out.strangers;
      continue;
    }
    const auto folder = open_folder(files, root, name, rules, false);
    if (folder.handle.is_open()) {
      read_folder(files, folder.handle, name, out);
    } else if (folder.failure.kind != Failure::Absent) {
      out.problems.push_back(folder.failure.reason);
    }
  }
  std::sort(out.entries.begin(), out.entries.end(),
            [](const auto& a, const auto& b) { return a.address < b.address; });
  return out;
}

uint64_t bytes_on_disk(uint64_t bytes) {
  return std::max<uint64_t>(1, (bytes + kBlock - 1) / kBlock) * kBlock;
}

std::vector<EntryInfo> over_limit(std::vector<EntryInfo> entries, uint64_t limit, int64_t now) {
  uint64_t total = 0;
  for (const auto& entry : entries) total += bytes_on_disk(entry.bytes);
  if (total <= limit) return {};
  const uint64_t target = limit - limit / 10;
  // Clocks of machines that share a directory may differ by minutes.
  const auto age_order = [&](const EntryInfo& entry) {
    return std::tuple(entry.used <= now + kHour, entry.used, entry.nanoseconds, entry.address);
  };
  std::sort(entries.begin(), entries.end(),
            [&](const auto& a, const auto& b) { return age_order(a) < age_order(b); });
  size_t count = 0;
  while (count < entries.size() && total > target) total -= bytes_on_disk(entries[count++].bytes);
  entries.resize(count);
  return entries;
}

bool is_stale(const Leftover& leftover, int64_t now) {
  return leftover.modified < now - kHour || leftover.modified > now + kHour;
}

}  // namespace antegrad::cache
