#pragma once
#include <chrono>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "cache/directory/outcome.h"
#include "cache/format/key.h"
#include "cache/settings.h"
#include "cache/store.h"
#include "util/fork_mutex.h"

namespace antegrad::cache {
class BackgroundStore;
class DirectoryStore;
class RecordingStore;
class Secret;
}  // namespace antegrad::cache

namespace antegrad::compiler {

/// The cache stores of this process, with statistics of lookups. Thread-safe.
class Caches {
 public:
  explicit Caches(const cache::Settings& settings);
  ~Caches();

  /// Returns the instance of this process; the first call makes one from the environment (settings.h).
  static std::shared_ptr<Caches> current();
  /// Replaces the instance that current() returns.
  static void configure(const cache::Settings& settings);

  cache::Store* store() const;  ///< null when there is no store
  /// Returns, for people, how a key differs from the nearest one of the same kind and name in the local
  /// store; "" when there is none.
  std::string nearest_difference(const cache::Key& key, std::string_view kind, std::string_view name) const;
  std::string why_no_store() const;

  cache::OutcomeCounter functions, kernels;
  void note(const std::string& reason);  ///< duplicates are dropped

  /// Whether an entry found in the store of this name may be missing in a store farther away that is written
  /// to.
  bool may_lack(std::string_view found_in) const;
  /// Kernels that this process has stored or loaded.
  void set_has_kernel(const cache::Digest& key);
  bool has_kernel(const cache::Digest& key) const;
  /// Kernels whose stored object is not the one that a function was built with. They are compiled and stored
  /// again.
  void set_wrong_kernel(const cache::Digest& key);
  bool is_wrong_kernel(const cache::Digest& key) const;

  /// Returns the local directory; empty when there is none.
  std::string directory() const;
  std::vector<std::string> reasons();  ///< why an entry was not used or not stored
  bool flush(std::chrono::milliseconds timeout);
  std::string export_used();

  struct Imported {
    uint64_t entries = 0;
    std::vector<std::string> reasons;  ///< what was not imported, or cannot be used on this machine
  };
  Imported import_bundle(std::string_view bundle);

 private:
  std::shared_ptr<cache::DirectoryStore> local_;
  std::shared_ptr<cache::BackgroundStore> background_;
  std::shared_ptr<cache::RecordingStore> store_;
  std::shared_ptr<const cache::Secret> secret_;
  /// Names of stores that are nearer than one that is written to.
  std::set<std::string, std::less<>> nearer_stores_;
  mutable BriefMutex mutex_;
  std::vector<std::string> reasons_;
  std::set<cache::Digest> kernels_in_store_, wrong_kernels_;
};

}  // namespace antegrad::compiler
