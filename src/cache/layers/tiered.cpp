#include "cache/layers/tiered.h"

#include <set>

namespace antegrad::cache {
namespace {

std::string joined(const std::string& a, const std::string& b) {
  return a.empty() || b.empty() ? a + b : a + "; " + b;
}

}  // namespace

TieredStore::TieredStore(std::shared_ptr<Store> near, std::shared_ptr<Store> far)
    : near_(std::move(near)), far_(std::move(far)) {}

std::string TieredStore::name() const { return near_->name() + ", " + far_->name(); }

/// Failures do not matter, because the caller has the entry already.
void TieredStore::bring_near(const Address& address, const Entry& entry) {
  if (!near_->read_only()) near_->put(address, entry);
}

Loaded TieredStore::of_both(const Address& address, Loaded near, Loaded far) {
  if (far.outcome == Outcome::Hit) {
    bring_near(address, far.entry);
    return far;
  }
  return {far.outcome == Outcome::Miss ? near.outcome : far.outcome, {}, joined(near.reason, far.reason), {}};
}

Loaded TieredStore::get(const Address& address) {
  auto near = near_->get(address);
  if (near.outcome == Outcome::Hit) return near;
  return of_both(address, std::move(near), far_->get(address));
}

std::vector<Loaded> TieredStore::get_many(std::span<const Address> addresses) {
  auto out = near_->get_many(addresses);
  std::vector<size_t> places;
  std::vector<Address> missing;
  for (size_t i = 0; i < out.size(); ++i) {
    if (out[i].outcome == Outcome::Hit) continue;
    places.push_back(i);
    missing.push_back(addresses[i]);
  }
  if (missing.empty()) return out;
  auto far = far_->get_many(missing);
  for (size_t i = 0; i < missing.size(); ++i) {
    auto& place = out[places[i]];
    place = of_both(missing[i], std::move(place), std::move(far[i]));
  }
  return out;
}

bool TieredStore::search(const Digest& key, const Visit& visit) {
  std::set<Address> shown;
  const auto show = [&](const Address& address, Loaded loaded) {
    if (loaded.outcome == Outcome::Hit) shown.insert(address);
    return visit(address, std::move(loaded));
  };
  if (near_->search(key, show)) return true;
  return far_->search(key, [&](const Address& address, Loaded loaded) {
    if (shown.contains(address)) return false;
    const auto entry = loaded.entry;
    const bool hit = loaded.outcome == Outcome::Hit;
    const bool taken = visit(address, std::move(loaded));
    if (taken && hit) bring_near(address, entry);
    return taken;
  });
}

Saved TieredStore::put(const Address& address, const Entry& entry) {
  Saved out{false, {}};
  for (auto* store : {near_.get(), far_.get()}) {
    if (store->read_only()) continue;
    auto saved = store->put(address, entry);
    out.done = out.done || saved.done;
    out.reason = joined(out.reason, saved.reason);
  }
  if (!out.done && out.reason.empty()) out.reason = name() + " are read only";
  return out;
}

}  // namespace antegrad::cache
