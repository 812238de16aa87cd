#pragma once
#include <cstdint>
#include <vector>

namespace antegrad::schedule {

/// A graph of things that run one after the other, each depending on others; things may be merged as long as
/// no two come to depend on each other.
class Clusters {
 public:
  int32_t add();
  void depend(int32_t cluster, int32_t on);
  bool depends(int32_t cluster, int32_t on) const;  ///< directly or not
  bool may_merge(int32_t a, int32_t b) const;
  void merge(int32_t into, int32_t other);
  int32_t find(int32_t cluster) const;
  /// All that were not merged into another, dependencies first, otherwise by `key`, ascending.
  std::vector<int32_t> order(const std::vector<int64_t>& key) const;

 private:
  using Bits = std::vector<uint64_t>;
  static bool test(const Bits& bits, int32_t i);
  static void set(Bits& bits, int32_t i);
  static bool add_all(Bits& to, const Bits& from);  ///< whether that changed it
  void add_ancestors(int32_t cluster, const Bits& more);

  std::vector<Bits> ancestors_;
  std::vector<std::vector<int32_t>> direct_;  ///< producers
  std::vector<bool> has_users_;
  mutable std::vector<int32_t> parent_;
};

}  // namespace antegrad::schedule
