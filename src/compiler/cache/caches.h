#pragma once
#include <chrono>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "antegrad/cache.h"
#include "cache/directory/outcome.h"
#include "cache/format/key.h"
#include "cache/store.h"
#include "util/fork_mutex.h"

namespace antegrad::cache {
class BackgroundStore;
class DirectoryStore;
class RecordingStore;
class Secret;
}  // namespace antegrad::cache

namespace antegrad::compiler {

/// The stores of this process and what became of lookups in them. Thread-safe.
class Caches {
 public:
  explicit Caches(const CacheConfig& config);
  ~Caches();

  static std::shared_ptr<Caches> current();
  /// What current() gives from now on.
  static void configure(const CacheConfig& config);

  cache::Store* store() const;  ///< null: nothing is kept
  /// What differs between a key and the nearest one of the same kind and name in the local store, for people;
  /// "": there is none.
  std::string nearest_difference(const cache::Key& key, std::string_view kind, std::string_view name) const;
  std::string why_no_store() const;

  cache::OutcomeCounter functions, kernels;
  void note(const std::string& reason);  ///< kept once

  /// Whether an entry that came from a store of this name may be missing in one that is written to.
  bool may_lack(std::string_view found_in) const;
  /// Kernels that this process has put into the store or got from there.
  void set_has_kernel(const cache::Digest& key);
  bool has_kernel(const cache::Digest& key) const;
  /// Kernels whose object in the store is not the one that a function was made with. They are compiled again,
  /// after which the store has them.
  void set_wrong_kernel(const cache::Digest& key);
  bool is_wrong_kernel(const cache::Digest& key) const;

  CacheReport report();
  bool flush(std::chrono::milliseconds timeout);
  std::string export_used();
  CacheImport import_bundle(std::string_view bundle);

 private:
  std::shared_ptr<cache::DirectoryStore> local_;
  std::shared_ptr<cache::BackgroundStore> background_;
  std::shared_ptr<cache::RecordingStore> store_;
  std::shared_ptr<const cache::Secret> secret_;
  std::set<std::string, std::less<>> nearer_stores_;  ///< than one that is written to
  mutable BriefMutex mutex_;
  std::vector<std::string> reasons_;
  std::set<cache::Digest> kernels_in_store_, wrong_kernels_;
};

}  // namespace antegrad::compiler
