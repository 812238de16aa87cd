#pragma once
#include <cstdint>
#include <vector>

#include "util/ids.h"

namespace antegrad::schedule {

using ClusterId = Id<struct ClusterTag>;

/// A graph of things that run one after the other, each depending on others; things may be merged as long as
/// no two come to depend on each other.
class Clusters {
 public:
  ClusterId add();
  void depend(ClusterId cluster, ClusterId on);
  bool depends(ClusterId cluster, ClusterId on) const;  ///< directly or not
  bool may_merge(ClusterId a, ClusterId b) const;
  void merge(ClusterId into, ClusterId other);
  ClusterId find(ClusterId cluster) const;  ///< what it was merged into; itself, unless it was
  /// All that were not merged into another, dependencies first, otherwise by `key`, ascending.
  std::vector<ClusterId> order(const IdMap<ClusterId, int64_t>& key) const;

 private:
  using Bits = std::vector<uint64_t>;
  struct Cluster {
    Bits ancestors;
    std::vector<ClusterId> direct;  ///< producers
    bool has_users = false;
    mutable ClusterId parent;  ///< towards what it was merged into
  };
  static bool test(const Bits& bits, ClusterId id);
  static void set(Bits& bits, ClusterId id);
  static void clear(Bits& bits, ClusterId id);
  static bool add_all(Bits& to, const Bits& from);  ///< whether that changed it
  void add_ancestors(ClusterId cluster, const Bits& more);

  IdMap<ClusterId, Cluster> clusters_;
};

}  // namespace antegrad::schedule
