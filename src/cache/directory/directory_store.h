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
  uint64_t limit_bytes = 0;            ///< 0 for no limit
  unsigned writes_per_collection = 0;  ///< 0 to collect in collect() only
  Sync sync = Sync::Never;
  bool read_only = false;
  bool create_root = true;
};

/// Returns the absolute path, relative to the current directory, without slashes at the end; empty when there
/// is none.
std::string normal_path(const std::string& path);

struct StoreStats {
  uint64_t entries = 0;
  uint64_t bytes = 0;  ///< on disk, including leftovers
  uint64_t leftovers = 0;
  uint64_t strangers = 0;
  int64_t oldest = 0, newest = 0;  ///< when entries were last used; 0 if there are none
  std::vector<std::string> problems;
};

/// What collect() and clear() removed.
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
  std::vector<BadEntry> bad;  ///< corrupt, refused, or unreadable
  uint64_t leftovers = 0;
  std::vector<std::string> problems;
};

/// A store in a directory: one file per entry, in 256 folders. Each call opens the directory anew, so it may
/// be deleted at any time. Nothing is locked: files appear and vanish atomically, by renaming and unlinking.
/// A damaged entry is removed when it is read.
class DirectoryStore : public Store {
 public:
  /// With a secret, entries get a MAC and must have one.
  DirectoryStore(DirectorySettings settings, std::shared_ptr<const Secret> secret,
                 std::shared_ptr<FileSystem> files);

  Loaded get(const Address& address) override;
  bool search(const Digest& key, const Visit& visit) override;
  Saved put(const Address& address, const Entry& entry) override;
  std::string name() const override { return settings_.name; }
  bool read_only() const override { return settings_.read_only; }

  const std::string& directory() const { return settings_.directory; }

  /// Returns why the directory cannot be used; empty when it can. Creates it if the settings allow that.
  std::string problem();

  using Progress = std::function<void(size_t done, size_t all)>;

  std::vector<EntryInfo> list();
  StoreStats stats();
  /// Removes entries until the limit holds, and leftovers that are more than an hour old.
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
