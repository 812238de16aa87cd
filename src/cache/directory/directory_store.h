#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cache/directory/catalogue.h"
#include "cache/directory/secret.h"
#include "cache/store.h"
#include "util/fork_mutex.h"

namespace antegrad::cache {

struct DirectorySettings {
  std::string name;
  std::string directory;  ///< absolute
  FolderRules rules;
  uint64_t limit_bytes = 0;            ///< 0: no limit
  unsigned writes_per_collection = 0;  ///< 0: only collect() collects
  Sync sync = Sync::Never;
  bool read_only = false;
  bool create_root = true;
};

/// Absolute and without "." or ".." or slashes at the end, by the current directory; empty when there is
/// none.
std::string normal_path(const std::string& path);

struct StoreStats {
  uint64_t entries = 0;
  uint64_t bytes = 0;  ///< on disk, leftovers included
  uint64_t leftovers = 0;
  uint64_t strangers = 0;
  int64_t oldest = 0, newest = 0;  ///< when entries were last used; 0 without entries
  std::vector<std::string> problems;
};

/// What gc and clear took away.
struct Removed {
  uint64_t entries = 0;
  uint64_t leftovers = 0;
  uint64_t bytes = 0;  ///< on disk
  std::vector<std::string> problems;
};

struct BadEntry {
  Address address;
  Outcome outcome;
  std::string reason;
};

struct VerifyReport {
  uint64_t good = 0;
  uint64_t other_versions = 0;
  std::vector<BadEntry> bad;  ///< corrupt, refused, or a miss because it cannot be read
  uint64_t leftovers = 0;
  std::vector<std::string> problems;
};

/// A store in a directory: one file per entry, in 256 folders. The directory is opened anew in each call, so
/// it may be deleted at any time. Nothing is locked: files appear whole, by renaming, and vanish whole. A
/// damaged entry is removed by whoever meets it.
class DirectoryStore : public Store {
 public:
  /// Entries get a MAC and need one when there is a secret.
  DirectoryStore(DirectorySettings settings, std::shared_ptr<const Secret> secret,
                 std::shared_ptr<FileSystem> files);

  Loaded get(const Address& address) override;
  bool search(const Digest& key, const Visit& visit) override;
  Saved put(const Address& address, const Entry& entry) override;
  std::string name() const override { return settings_.name; }
  bool read_only() const override { return settings_.read_only; }

  const std::string& directory() const { return settings_.directory; }

  /// Why the directory cannot be used; empty when it can. Makes it where the settings allow that.
  std::string problem();

  using Progress = std::function<void(size_t done, size_t all)>;

  std::vector<EntryInfo> list();
  StoreStats stats();
  /// Removes entries until the limit holds, and leftovers that are an hour old.
  Removed collect();
  /// Removes all entries and leftovers.
  Removed clear();
  /// Reads every entry; changes nothing. `progress` may be empty.
  VerifyReport verify(const Progress& progress = {});

 private:
  struct FileBytes {
    OpenedFile file;
    std::string bytes;
    Failure failure;
  };

  OpenedFolder root(bool create);
  OpenedFolder open(const Digest& key, bool create);
  FileBytes read(const Handle& folder, const Address& address);
  Loaded load(const Handle& folder, const Address& address);
  Saved write(const Address& address, const std::string& bytes);
  void mark_used(const OpenedFile& file);
  void after_write();

  // directory_maintenance.cpp
  Catalogue catalogue();
  void verify_entry(const Address& address, VerifyReport& out);
  void remove_entries(const Handle& root, const std::vector<EntryInfo>& entries, Removed& out);
  void remove_leftovers(const Handle& root, const std::vector<Leftover>& leftovers, Removed& out);
  bool remove_file(const Handle& root, const std::string& folder, const std::string& name, Removed& out);

  const DirectorySettings settings_;
  const std::shared_ptr<const Secret> secret_;
  const std::shared_ptr<FileSystem> files_;
  std::atomic<uint64_t> writes_{0};
  BriefMutex collecting_;
};

}  // namespace antegrad::cache
