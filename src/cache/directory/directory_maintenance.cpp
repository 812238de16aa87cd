// Directory stores: the operations of the command line, and eviction.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "cache/directory/directory_store.h"

namespace antegrad::cache {
namespace {

Removed nothing_removed(const Failure& failure) {
  Removed out;
  if (failure.kind != Failure::Absent) out.problems.push_back(failure.reason);
  return out;
}

}  // namespace

Catalogue DirectoryStore::catalogue() {
  const auto opened = root(false);
  if (opened.failure.kind == Failure::Absent) return {};
  if (opened.failure) return {{}, {}, 0, {opened.failure.reason}};
  return read_catalogue(*files_, opened.handle, settings_.rules);
}

std::vector<EntryInfo> DirectoryStore::list() { return catalogue().entries; }

StoreStats DirectoryStore::stats() {
  auto all = catalogue();
  StoreStats out;
  out.entries = all.entries.size();
  out.leftovers = all.leftovers.size();
  out.strangers = all.strangers;
  out.problems = std::move(all.problems);
  for (const auto& entry : all.entries) {
    out.oldest = out.oldest == 0 ? entry.used : std::min(out.oldest, entry.used);
    out.newest = std::max(out.newest, entry.used);
    out.bytes += bytes_on_disk(entry.bytes);
  }
  for (const auto& leftover : all.leftovers) out.bytes += bytes_on_disk(leftover.bytes);
  return out;
}

/// Returns whether there was a file and it was removed.
bool DirectoryStore::remove_file(const Handle& root, const std::string& folder, const std::string& name,
                                 Removed& out) {
  const auto opened = open_folder(*files_, root, folder, settings_.rules, false);
  if (opened.failure.kind == Failure::Absent) return false;
  if (opened.failure) {
    out.problems.push_back(opened.failure.reason);
    return false;
  }
  const int result = files_->remove(opened.handle.number(), name);
  if (result < 0 && result != -ENOENT) {
    out.problems.push_back(fmt::format("cannot remove {}/{}: {}", folder, name, error_text(result)));
  }
  return result >= 0;
}

void DirectoryStore::remove_entries(const Handle& root, const std::vector<EntryInfo>& entries, Removed& out) {
  for (const auto& entry : entries) {
    if (!remove_file(root, folder_name(entry.address.key), file_name(entry.address), out)) continue;
    ++out.entries;
    out.bytes += bytes_on_disk(entry.bytes);
  }
}

void DirectoryStore::remove_leftovers(const Handle& root, const std::vector<Leftover>& leftovers,
                                      Removed& out) {
  for (const auto& leftover : leftovers) {
    if (!remove_file(root, leftover.folder, leftover.name, out)) continue;
    ++out.leftovers;
    out.bytes += bytes_on_disk(leftover.bytes);
  }
}

Removed DirectoryStore::collect() {
  Removed out;
  const std::unique_lock only_one(collecting_, std::try_to_lock);
  if (!only_one || settings_.read_only) return out;
  const auto opened = root(false);
  if (opened.failure) return nothing_removed(opened.failure);
  auto all = read_catalogue(*files_, opened.handle, settings_.rules);
  out.problems = std::move(all.problems);
  const auto now = files_->now();
  std::erase_if(all.leftovers, [&](const auto& leftover) { return !is_stale(leftover, now); });
  remove_leftovers(opened.handle, all.leftovers, out);
  if (settings_.limit_bytes > 0) {
    remove_entries(opened.handle, over_limit(std::move(all.entries), settings_.limit_bytes, now), out);
  }
  return out;
}

Removed DirectoryStore::clear() {
  Removed out;
  if (settings_.read_only) return nothing_removed({Failure::Refused, settings_.directory + " is read only"});
  const auto opened = root(false);
  if (opened.failure) return nothing_removed(opened.failure);
  auto all = read_catalogue(*files_, opened.handle, settings_.rules);
  out.problems = std::move(all.problems);
  remove_leftovers(opened.handle, all.leftovers, out);
  remove_entries(opened.handle, all.entries, out);
  return out;
}

void DirectoryStore::verify_entry(const Address& address, VerifyReport& out) {
  const auto place = open(address.key, false);
  const auto found = place.failure ? FileBytes{{}, {}, place.failure} : read(place.handle, address);
  // Evicted meanwhile.
  if (found.failure.kind == Failure::Absent) return;
  if (found.failure) {
    out.bad.push_back({address, outcome_of(found.failure), found.failure.reason});
    return;
  }
  auto read = read_entry(found.bytes, address, secret_.get());
  if (read.outcome == Outcome::Hit) {
    ++out.good;
  } else if (read.outcome == Outcome::Miss) {
    ++out.other_versions;
  } else {
    out.bad.push_back({address, read.outcome, std::move(read.reason)});
  }
}

VerifyReport DirectoryStore::verify(const Progress& progress) {
  const auto all = catalogue();
  VerifyReport out;
  out.leftovers = all.leftovers.size();
  out.problems = all.problems;
  for (size_t i = 0; i < all.entries.size(); ++i) {
    verify_entry(all.entries[i].address, out);
    if (progress) progress(i + 1, all.entries.size());
  }
  return out;
}

}  // namespace antegrad::cache
