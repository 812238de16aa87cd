#include "cache/layers/background.h"

#include <set>

#include "cache/layers/background_queue.h"

namespace antegrad::cache {
namespace {

Loaded hit(const Entry& entry) { return {Outcome::Hit, entry, {}, "waiting"}; }

}  // namespace

BackgroundStore::BackgroundStore(std::shared_ptr<Store> inner, BackgroundLimits limits)
    : inner_(std::move(inner)),
      limits_(limits),
      live_([this] { return std::make_unique<Live>(Live{std::make_shared<Queue>(inner_, limits_)}); }) {}

BackgroundStore::~BackgroundStore() {
  if (auto* live = live_.existing()) live->queue->close(limits_.exit_time);
}

Loaded BackgroundStore::get(const Address& address) {
  if (auto* live = live_.existing()) {
    if (const auto entry = live->queue->find(address)) return hit(*entry);
  }
  return inner_->get(address);
}

std::vector<Loaded> BackgroundStore::get_many(std::span<const Address> addresses) {
  auto* live = live_.existing();
  if (!live) return inner_->get_many(addresses);
  std::vector<Loaded> out(addresses.size());
  std::vector<size_t> places;
  std::vector<Address> missing;
  for (size_t i = 0; i < addresses.size(); ++i) {
    if (const auto entry = live->queue->find(addresses[i])) {
      out[i] = hit(*entry);
    } else {
      places.push_back(i);
      missing.push_back(addresses[i]);
    }
  }
  if (missing.empty()) return out;
  auto found = inner_->get_many(missing);
  for (size_t i = 0; i < missing.size(); ++i) out[places[i]] = std::move(found[i]);
  return out;
}

bool BackgroundStore::search(const Digest& key, const Visit& visit) {
  std::set<Address> shown;
  if (auto* live = live_.existing()) {
    for (const auto& [address, entry] : live->queue->find_all(key)) {
      if (visit(address, hit(*entry))) return true;
      shown.insert(address);
    }
  }
  return inner_->search(key, [&](const Address& address, Loaded loaded) {
    return !(shown.contains(address) && loaded.outcome == Outcome::Hit) && visit(address, std::move(loaded));
  });
}

Saved BackgroundStore::put(const Address& address, const Entry& entry) {
  if (inner_->read_only()) return inner_->put(address, entry);
  if (auto problem = entry_problem(entry); !problem.empty()) return {false, std::move(problem)};
  if (live_.get().queue->offer(address, entry)) return {true, {}};
  return inner_->put(address, entry);
}

bool BackgroundStore::flush(std::chrono::milliseconds timeout) {
  auto* live = live_.existing();
  return !live || live->queue->flush(timeout);
}

size_t BackgroundStore::waiting() const {
  auto* live = live_.existing();
  return live ? live->queue->size() : 0;
}

std::vector<std::string> BackgroundStore::take_failures() {
  auto* live = live_.existing();
  return live ? live->queue->take_failures() : std::vector<std::string>{};
}

}  // namespace antegrad::cache
