#pragma once
#include <cstdint>
#include <vector>

#include "engine/reused.h"

namespace antegrad::engine {

/// Numbers keys 0, 1, 2 … in the order in which they are first looked up. Open addressing in one block of
/// memory: a pass looks up every edge.
template <class Key>
class FlatIndex {
 public:
  /// `expected`: number of keys; more are possible.
  explicit FlatIndex(size_t expected = 0) {
    size_t places = 16;
    while (places < 2 * expected) places *= 2;
    places_.resize(places);
  }

  struct Found {
    uint32_t index;
    bool added;  ///< it was not looked up before
  };
  Found number(const Key& key) {
    if (2 * count_ >= places_.size()) grow();
    auto& place = find(key);
    if (place.index_plus_1 != 0) return {place.index_plus_1 - 1, false};
    place = {key, ++count_};
    return {count_ - 1, true};
  }

  size_t size() const { return count_; }

 private:
  struct Place {
    Key key{};
    uint32_t index_plus_1 = 0;  ///< 0 where the place is free
  };

  Place& find(const Key& key) {
    const auto mask = places_.size() - 1;
    auto bits = static_cast<uint64_t>(key) * 0x9e3779b97f4a7c15u;
    for (size_t i = (bits >> 32) & mask;; i = (i + 1) & mask)
      if (places_[i].index_plus_1 == 0 || places_[i].key == key) return places_[i];
  }
  void grow() {
    std::vector<Place> before(places_.size() * 2);
    places_.swap(before);
    for (const auto& place : before)
      if (place.index_plus_1 != 0) find(place.key) = place;
  }

  RecycledVector<Place> places_;
  uint32_t count_ = 0;
};

}  // namespace antegrad::engine
