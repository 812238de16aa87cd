#include "cache/layers/recording.h"

namespace antegrad::cache {

RecordingStore::RecordingStore(std::shared_ptr<Store> inner, size_t most)
    : inner_(std::move(inner)), most_(most) {}

void RecordingStore::remember(const Address& address) {
  const std::lock_guard lock(mutex_);
  if (used_.size() < most_) {
    used_.insert(address);
  } else if (!used_.contains(address)) {
    complete_ = false;
  }
}

Loaded RecordingStore::get(const Address& address) {
  auto loaded = inner_->get(address);
  if (loaded.outcome == Outcome::Hit) remember(address);
  return loaded;
}

std::vector<Loaded> RecordingStore::get_many(std::span<const Address> addresses) {
  auto out = inner_->get_many(addresses);
  for (size_t i = 0; i < out.size(); ++i) {
    if (out[i].outcome == Outcome::Hit) remember(addresses[i]);
  }
  return out;
}

bool RecordingStore::search(const Digest& key, const Visit& visit) {
  return inner_->search(key, [&](const Address& address, Loaded loaded) {
    const bool hit = loaded.outcome == Outcome::Hit;
    const bool taken = visit(address, std::move(loaded));
    // An entry that was visited and rejected because of its guards was not used.
    if (taken && hit) remember(address);
    return taken;
  });
}

Saved RecordingStore::put(const Address& address, const Entry& entry) {
  auto saved = inner_->put(address, entry);
  if (saved) remember(address);
  return saved;
}

std::vector<Address> RecordingStore::used() const {
  const std::lock_guard lock(mutex_);
  return {used_.begin(), used_.end()};
}

bool RecordingStore::complete() const {
  const std::lock_guard lock(mutex_);
  return complete_;
}

}  // namespace antegrad::cache
