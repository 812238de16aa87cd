#include "schedule/clusters.h"

#include <algorithm>
#include <queue>

namespace antegrad::schedule {

bool Clusters::test(const Bits& bits, int32_t i) {
  const auto word = static_cast<size_t>(i) / 64;
  return word < bits.size() && (bits[word] >> (i % 64) & 1) != 0;
}
void Clusters::set(Bits& bits, int32_t i) {
  const auto word = static_cast<size_t>(i) / 64;
  if (word >= bits.size()) bits.resize(word + 1);
  bits[word] |= uint64_t{1} << (i % 64);
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

int32_t Clusters::add() {
  const auto id = static_cast<int32_t>(parent_.size());
  parent_.push_back(id);
  ancestors_.emplace_back();
  direct_.emplace_back();
  has_users_.push_back(false);
  return id;
}

int32_t Clusters::find(int32_t cluster) const {
  while (parent_[static_cast<size_t>(cluster)] != cluster) {
    auto& parent = parent_[static_cast<size_t>(cluster)];
    parent = parent_[static_cast<size_t>(parent)];
    cluster = parent;
  }
  return cluster;
}

bool Clusters::depends(int32_t cluster, int32_t on) const {
  return test(ancestors_[static_cast<size_t>(find(cluster))], find(on));
}

void Clusters::add_ancestors(int32_t cluster, const Bits& more) {
  if (!add_all(ancestors_[static_cast<size_t>(cluster)], more)) return;
  if (!has_users_[static_cast<size_t>(cluster)]) return;
  for (auto& bits : ancestors_)
    if (test(bits, cluster)) add_all(bits, more);
}

void Clusters::depend(int32_t cluster, int32_t on) {
  cluster = find(cluster);
  on = find(on);
  if (cluster == on) return;
  auto more = ancestors_[static_cast<size_t>(on)];
  set(more, on);
  has_users_[static_cast<size_t>(on)] = true;
  auto& direct = direct_[static_cast<size_t>(cluster)];
  if (std::ranges::find(direct, on) == direct.end()) direct.push_back(on);
  add_ancestors(cluster, more);
}

bool Clusters::may_merge(int32_t a, int32_t b) const {
  a = find(a);
  b = find(b);
  const auto passes_by = [&](int32_t from, int32_t to) {
    return std::ranges::any_of(direct_[static_cast<size_t>(from)], [&](int32_t producer) {
      producer = find(producer);
      return producer != to && producer != from && depends(producer, to);
    });
  };
  return !passes_by(a, b) && !passes_by(b, a);
}

void Clusters::merge(int32_t into, int32_t other) {
  into = find(into);
  other = find(other);
  if (into == other) return;
  parent_[static_cast<size_t>(other)] = into;
  auto& direct = direct_[static_cast<size_t>(into)];
  direct.insert(direct.end(), direct_[static_cast<size_t>(other)].begin(),
                direct_[static_cast<size_t>(other)].end());
  auto bits = ancestors_[static_cast<size_t>(other)];
  add_all(bits, ancestors_[static_cast<size_t>(into)]);
  ancestors_[static_cast<size_t>(into)] = bits;
  set(bits, into);
  for (auto& users : ancestors_)
    if (test(users, other) || test(users, into)) add_all(users, bits);
  has_users_[static_cast<size_t>(into)] =
      has_users_[static_cast<size_t>(into)] || has_users_[static_cast<size_t>(other)];
  // What they depended on each other for is inside now.
  for (auto id : {into, other})
    if (auto& own = ancestors_[static_cast<size_t>(into)]; static_cast<size_t>(id) / 64 < own.size())
      own[static_cast<size_t>(id) / 64] &= ~(uint64_t{1} << (id % 64));
}

std::vector<int32_t> Clusters::order(const std::vector<int64_t>& key) const {
  const auto count = parent_.size();
  std::vector<std::vector<int32_t>> users(count);
  std::vector<int32_t> waiting(count);
  for (size_t c = 0; c < count; ++c) {
    if (find(static_cast<int32_t>(c)) != static_cast<int32_t>(c)) continue;
    std::vector<int32_t> producers;
    for (auto p : direct_[c]) producers.push_back(find(p));
    std::ranges::sort(producers);
    producers.erase(std::unique(producers.begin(), producers.end()), producers.end());
    std::erase(producers, static_cast<int32_t>(c));
    waiting[c] = static_cast<int32_t>(producers.size());
    for (auto p : producers) users[static_cast<size_t>(p)].push_back(static_cast<int32_t>(c));
  }
  using Entry = std::pair<int64_t, int32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  for (size_t c = 0; c < count; ++c)
    if (find(static_cast<int32_t>(c)) == static_cast<int32_t>(c) && waiting[c] == 0)
      ready.emplace(key[c], static_cast<int32_t>(c));
  std::vector<int32_t> out;
  while (!ready.empty()) {
    const auto c = ready.top().second;
    ready.pop();
    out.push_back(c);
    for (auto user : users[static_cast<size_t>(c)])
      if (--waiting[static_cast<size_t>(user)] == 0) ready.emplace(key[static_cast<size_t>(user)], user);
  }
  return out;
}

}  // namespace antegrad::schedule
