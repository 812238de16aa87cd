#include "compiler/cache/caches.h"

#include <fmt/format.h>

#include <algorithm>

#include "cache/directory/explain.h"
#include "cache/directory/local_store.h"
#include "cache/directory/secret.h"
#include "cache/format/hash.h"
#include "cache/layers/background.h"
#include "cache/layers/bundle.h"
#include "cache/layers/open_stores.h"
#include "cache/layers/recording.h"
#include "compiler/cache/settings.h"
#include "compiler/cache/system_key.h"
#include "toolchain/isa.h"
#include "toolchain/toolchain.h"
#include "util/fork_mutex.h"
#include "util/process_end.h"
#include "util/reasons.h"

namespace antegrad::compiler {
namespace {

void write_what_waits();

struct Current {
  BriefMutex mutex;
  std::shared_ptr<Caches> caches;
};

/// Never destroyed; pending writes are done at the end of the process. OpenSSL must be initialised before
/// that handler is registered, because writing uses hashes.
Current& current_caches() {
  static auto& current = *[] {
    cache::sha256("");
    process_end::outlive_statics();
    process_end::at_end(write_what_waits);
    return new Current;
  }();
  return current;
}

void write_what_waits() try {
  auto& current = current_caches();
  std::unique_lock lock(current.mutex);
  const auto caches = current.caches;
  lock.unlock();
  if (caches != nullptr) caches->flush(cache::BackgroundLimits().exit_time);
} catch (...) {  // errors of the cache at process exit are ignored
}

cache::System system_here() {
  return {{"antegrad", own_build()},
          {"toolchain", toolchain::default_toolchain_name()},
          {"isa", std::string(toolchain::isa_name(toolchain::detect_isa()))}};
}

}  // namespace

Caches::Caches(const cache::Settings& settings) {
  const auto files = std::make_shared<cache::FileSystem>();
  auto opened = cache::open_stores(settings, files);
  reasons_ = std::move(opened.reasons);
  local_ = std::move(opened.local);
  const bool to_redis = opened.redis && !opened.redis->read_only();
  if (to_redis && opened.shared) nearer_stores_.insert(opened.shared->name());
  if (local_ && (to_redis || (opened.shared && !opened.shared->read_only())))
    nearer_stores_.insert(local_->name());
  if (!settings.key_file.empty()) secret_ = cache::read_key_file(*files, settings.key_file).secret;
  if (opened.store == nullptr) return;
  background_ = std::make_shared<cache::BackgroundStore>(std::move(opened.store));
  store_ = std::make_shared<cache::RecordingStore>(background_);
}

Caches::~Caches() = default;

std::shared_ptr<Caches> Caches::current() {
  auto& current = current_caches();
  const std::scoped_lock lock(current.mutex);
  if (current.caches == nullptr)
    current.caches = std::make_shared<Caches>(with_environment(cache::Settings()));
  return current.caches;
}

void Caches::configure(const cache::Settings& settings) {
  auto caches = std::make_shared<Caches>(settings);
  auto& current = current_caches();
  {
    const std::scoped_lock lock(current.mutex);
    current.caches.swap(caches);
  }
  if (caches != nullptr) caches->flush(std::chrono::seconds(10));
}

cache::Store* Caches::store() const { return store_.get(); }

std::string Caches::why_no_store() const {
  const std::scoped_lock lock(mutex_);
  return reasons_.empty() ? "there is no directory for a cache" : reasons_.front();
}

std::string Caches::nearest_difference(const cache::Key& key, std::string_view kind,
                                       std::string_view name) const {
  if (local_ == nullptr) return "";
  cache::LocalSettings settings;  // read-only, so that reading does not refresh entries' times of use
  settings.directory = local_->directory();
  settings.read_only = true;
  const auto opened = cache::open_local_store(settings, secret_, std::make_shared<cache::FileSystem>());
  if (opened.store == nullptr) return "";
  const auto near = cache::nearest_key(*opened.store, key, kind, name);
  if (!near) return "";
  return fmt::format("The nearest entry is {}:\n{}", near->info.address.key.hex(),
                     cache::explain(near->label.key, key));
}

void Caches::note(const std::string& reason) {
  const std::scoped_lock lock(mutex_);
  append_unique(reasons_, reason);
}

bool Caches::may_lack(std::string_view found_in) const { return nearer_stores_.contains(found_in); }

void Caches::set_has_kernel(const cache::Digest& key) {
  const std::scoped_lock lock(mutex_);
  kernels_in_store_.insert(key);
  wrong_kernels_.erase(key);
}

bool Caches::has_kernel(const cache::Digest& key) const {
  const std::scoped_lock lock(mutex_);
  return kernels_in_store_.count(key) != 0;
}

void Caches::set_wrong_kernel(const cache::Digest& key) {
  const std::scoped_lock lock(mutex_);
  wrong_kernels_.insert(key);
  kernels_in_store_.erase(key);
}

bool Caches::is_wrong_kernel(const cache::Digest& key) const {
  const std::scoped_lock lock(mutex_);
  return wrong_kernels_.count(key) != 0;
}

std::string Caches::directory() const { return local_ == nullptr ? "" : local_->directory(); }

std::vector<std::string> Caches::reasons() {
  if (background_ != nullptr)
    for (const auto& reason : background_->take_failures()) note(reason);
  const std::scoped_lock lock(mutex_);
  return reasons_;
}

bool Caches::flush(std::chrono::milliseconds timeout) {
  return background_ == nullptr || background_->flush(timeout);
}

std::string Caches::export_used() {
  return store_ == nullptr ? "" : cache::write_bundle(*store_, store_->used(), secret_.get());
}

Caches::Imported Caches::import_bundle(std::string_view bundle) {
  if (store_ == nullptr) return {0, {why_no_store()}};
  const auto report = cache::import_bundle(bundle, *store_, secret_.get(), system_here());
  Imported out{report.imported + report.present, {}};
  if (!report.problem.empty()) out.reasons.push_back(report.problem);
  for (const auto* list : {&report.elsewhere, &report.left_out})
    for (const auto& [reason, count] : *list)
      out.reasons.push_back(reason + ", " + std::to_string(count) + (count == 1 ? " entry" : " entries"));
  return out;
}

}  // namespace antegrad::compiler
