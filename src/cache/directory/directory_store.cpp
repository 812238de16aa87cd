#include "cache/directory/directory_store.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

namespace antegrad::cache {
namespace {

/// Reads update the time of use at most once in this many seconds, so that warm starts rarely write.
constexpr int64_t kUsedPrecision = 3600;
/// A folder may be deleted, or a temporary file collected, while an entry is being written.
constexpr int kWriteAttempts = 3;

Loaded not_loaded(const Failure& failure) {
  const bool absent = failure.kind == Failure::Absent;
  return {outcome_of(failure), {}, absent ? std::string() : failure.reason, {}};
}

/// Returns a number that differs between processes and stores.
uint64_t any_number() {
  static std::atomic<uint64_t> count{0};
  const auto time = std::chrono::system_clock::now().time_since_epoch().count();
  return variant_of(sha256(fmt::format("{} {} {}", ::getpid(), time, count.fetch_add(1))));
}

}  // namespace

std::string normal_path(const std::string& path) {
  std::error_code error;
  auto absolute = std::filesystem::absolute(path, error).string();
  if (error || path.empty()) return {};
  // "a/" and "a/." would follow a symbolic link called "a"; "a" names the link itself, which is refused.
  for (;;) {
    if (absolute.ends_with("/."))
      absolute.resize(absolute.size() - 1);
    else if (absolute.size() > 1 && absolute.back() == '/')
      absolute.pop_back();
    else
      return absolute;
  }
}

DirectoryStore::DirectoryStore(DirectorySettings settings, std::shared_ptr<const Secret> secret,
                               std::shared_ptr<FileSystem> files)
    : settings_(std::move(settings)), secret_(std::move(secret)), files_(std::move(files)) {
  // Many short processes that each write little must also collect now and then, so each starts at another
  // count.
  if (settings_.writes_per_collection > 0) writes_ = any_number() % settings_.writes_per_collection;
}

OpenedFolder DirectoryStore::root(bool create) {
  return open_root(*files_, settings_.directory, settings_.rules, create && settings_.create_root);
}

OpenedFolder DirectoryStore::open(const Digest& key, bool create) {
  auto parent = root(create);
  if (parent.failure) return {{}, std::move(parent.failure)};
  return open_folder(*files_, parent.handle, folder_name(key), settings_.rules, create);
}

std::string DirectoryStore::problem() { return root(!settings_.read_only).failure.reason; }

void DirectoryStore::mark_used(const OpenedFile& file) {
  const auto now = files_->now();
  // Also corrects a time in the future.
  const auto modified = file.status.modified;
  if (modified > now - kUsedPrecision && modified < now + kUsedPrecision) return;
  files_->set_modified(file.handle.number(), now);
}

DirectoryStore::FileBytes DirectoryStore::read(const Handle& folder, const Address& address) {
  FileBytes out{open_file(*files_, folder, file_name(address), settings_.rules), {}, {}};
  const auto size = out.file.status.size;
  if (out.file.failure) {
    out.failure = out.file.failure;
  } else if (size > kMaxEntryBytes) {
    out.failure = {Failure::Damaged, fmt::format("{} bytes are too many", size)};
  } else {
    out.bytes.resize(size);
    out.failure = read_all(*files_, out.file.handle, out.bytes);
  }
  return out;
}

Loaded DirectoryStore::load(const Handle& folder, const Address& address) {
  const auto found = read(folder, address);
  Loaded out = not_loaded(found.failure);
  if (!found.failure) {
    auto read = read_entry(found.bytes, address, secret_.get());
    const bool hit = read.outcome == Outcome::Hit;
    out = {read.outcome, std::move(read.entry), std::move(read.reason), hit ? settings_.name : ""};
  }
  if (!out.reason.empty()) out.reason = fmt::format("entry {}: {}", address.to_text(), out.reason);
  if (settings_.read_only) return out;
  if (out.outcome == Outcome::Hit) mark_used(found.file);
  if (out.outcome == Outcome::Corrupt) files_->remove(folder.number(), file_name(address));
  return out;
}

Loaded DirectoryStore::get(const Address& address) {
  const auto place = open(address.key, false);
  if (place.failure) return not_loaded(place.failure);
  return load(place.handle, address);
}

bool DirectoryStore::search(const Digest& key, const Visit& visit) {
  const auto place = open(key, false);
  if (place.failure.kind == Failure::Absent) return false;
  if (place.failure) return visit({key, 0}, not_loaded(place.failure));
  std::vector<std::string> names;
  files_->list(place.handle.number(), names);
  const auto folder = folder_name(key);
  std::vector<Address> found;
  for (const auto& name : names) {
    if (const auto address = Address::parse(folder + name); address && address->key == key) {
      found.push_back(*address);
    }
  }
  std::sort(found.begin(), found.end());
  return std::any_of(found.begin(), found.end(),
                     [&](const auto& address) { return visit(address, load(place.handle, address)); });
}

Saved DirectoryStore::put(const Address& address, const Entry& entry) {
  if (settings_.read_only) return {false, fmt::format("{} is read only", settings_.directory)};
  if (auto problem = entry_problem(entry); !problem.empty()) return {false, std::move(problem)};
  auto saved = write(address, write_entry(entry, address, secret_.get()));
  if (saved) after_write();
  return saved;
}

Saved DirectoryStore::write(const Address& address, const std::string& bytes) {
  Failure failure;
  for (int i = 0; i < kWriteAttempts; ++i) {
    auto place = open(address.key, true);
    failure = std::move(place.failure);
    if (!failure) {
      failure = write_file(*files_, place.handle, file_name(address), bytes, settings_.rules, settings_.sync);
    }
    if (failure.kind != Failure::Absent) break;
  }
  if (!failure) return {true, {}};
  return {false, fmt::format("nothing is stored in {}: {}", settings_.directory, failure.reason)};
}

void DirectoryStore::after_write() {
  const auto interval = settings_.writes_per_collection;
  if (interval == 0 || writes_.fetch_add(1) % interval != interval - 1) return;
  collect();
}

}  // namespace antegrad::cache
