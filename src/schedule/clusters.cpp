#include "schedule/clusters.h"

#include <algorithm>
#include <queue>

namespace antegrad::schedule {

bool Clusters::test(const Bits& bits, ClusterId id) {
  const auto word = id.position() / 64;
  return word < bits.size() && (bits[word] >> (id.index % 64) & 1) != 0;
}
void Clusters::set(Bits& bits, ClusterId id) {
  const auto word = id.position() / 64;
  if (word >= bits.size()) bits.resize(word + 1);
  bits[word] |= uint64_t{1} << (id.index % 64);
}
void Clusters::clear(Bits& bits, ClusterId id) {
  const auto word = id.position() / 64;
  if (word < bits.size()) bits[word] &= ~(uint64_t{1} << (id.index % 64));
}
bool Clusters::add_all(Bits& to, const Bits& from) {
  if (to.size() < from.size()) to.resize(from.size());
  bool changed = false;
  for (size_t i = 0; i < from.size(); ++i) {
    changed = changed || (from[i] & ~to[i]) != 0;
    to[i] |= from[i];
  }
  return changed;
}

ClusterId Clusters::add() {
  const auto id = clusters_.push_back({});
  clusters_[id].parent = id;
  return id;
}

ClusterId Clusters::find(ClusterId cluster) const {
  while (clusters_[cluster].parent != cluster) {
    auto& parent = clusters_[cluster].parent;
    parent = clusters_[parent].parent;
    cluster = parent;
  }
  return cluster;
}

bool Clusters::depends(ClusterId cluster, ClusterId on) const {
  return test(clusters_[find(cluster)].ancestors, find(on));
}

void Clusters::add_ancestors(ClusterId id, const Bits& more) {
  if (!add_all(clusters_[id].ancestors, more)) return;
  if (!clusters_[id].has_users) return;
  for (auto& cluster : clusters_)
    if (test(cluster.ancestors, id)) add_all(cluster.ancestors, more);
}

void Clusters::depend(ClusterId cluster, ClusterId on) {
  cluster = find(cluster);
  on = find(on);
  if (cluster == on) return;
  auto more = clusters_[on].ancestors;
  set(more, on);
  clusters_[on].has_users = true;
  auto& direct = clusters_[cluster].direct;
  if (std::ranges::find(direct, on) == direct.end()) direct.push_back(on);
  add_ancestors(cluster, more);
}

bool Clusters::may_merge(ClusterId a, ClusterId b) const {
  a = find(a);
  b = find(b);
  const auto passes_by = [&](ClusterId from, ClusterId to) {
    return std::ranges::any_of(clusters_[from].direct, [&](ClusterId producer) {
      producer = find(producer);
      return producer != to && producer != from && depends(producer, to);
    });
  };
  return !passes_by(a, b) && !passes_by(b, a);
}

void Clusters::merge(ClusterId into, ClusterId other) {
  into = find(into);
  other = find(other);
  if (into == other) return;
  auto &kept = clusters_[into], &gone = clusters_[other];
  gone.parent = into;
  kept.direct.insert(kept.direct.end(), gone.direct.begin(), gone.direct.end());
  auto bits = gone.ancestors;
  add_all(bits, kept.ancestors);
  kept.ancestors = bits;
  set(bits, into);
  for (auto& user : clusters_)
    if (test(user.ancestors, other) || test(user.ancestors, into)) add_all(user.ancestors, bits);
  kept.has_users = kept.has_users || gone.has_users;
  // Dependencies between the two are now internal.
  for (auto id : {into, other}) clear(kept.ancestors, id);
}

std::vector<ClusterId> Clusters::order(const IdMap<ClusterId, int64_t>& key) const {
  IdMap<ClusterId, std::vector<ClusterId>> users(clusters_.size());
  IdMap<ClusterId, size_t> waiting(clusters_.size());
  for (const auto c : clusters_.ids()) {
    if (find(c) != c) continue;
    std::vector<ClusterId> producers;
    for (auto p : clusters_[c].direct) producers.push_back(find(p));
    std::ranges::sort(producers);
    producers.erase(std::unique(producers.begin(), producers.end()), producers.end());
    std::erase(producers, c);
    waiting[c] = producers.size();
    for (auto p : producers) users[p].push_back(c);
  }
  using Entry = std::pair<int64_t, ClusterId>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  for (const auto c : clusters_.ids())
    if (find(c) == c && waiting[c] == 0) ready.emplace(key[c], c);
  std::vector<ClusterId> out;
  while (!ready.empty()) {
    const auto c = ready.top().second;
    ready.pop();
    out.push_back(c);
    for (auto user : users[c])
      if (--waiting[user] == 0) ready.emplace(key[user], user);
  }
  return out;
}

}  // namespace antegrad::schedule
