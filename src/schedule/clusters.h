#pragma once
#include <cstdint>
#include <vector>

#include "util/ids.h"

namespace antegrad::schedule {

using ClusterId = Id<struct ClusterTag>;

/// A dependency graph of units of work that run one after the other. Two units may be merged unless that
/// would create a cycle.
class Clusters {
 public:
  ClusterId add();
  void depend(ClusterId cluster, ClusterId on);
  bool depends(ClusterId cluster, ClusterId on) const;  ///< directly or transitively
  bool may_merge(ClusterId a, ClusterId b) const;
  void merge(ClusterId into, ClusterId other);
  ClusterId find(ClusterId cluster) const;  ///< the cluster it was merged into; itself when it was not merged
  /// Returns all clusters that were not merged into another, in topological order, ties broken by ascending
  /// `key`.
  std::vector<ClusterId> order(const IdMap<ClusterId, int64_t>& key) const;

 private:
  using Bits = std::vector<uint64_t>;
  struct Cluster {
    Bits ancestors;
    std::vector<ClusterId> direct;  ///< direct dependencies
    bool has_users = false;
    mutable ClusterId parent;  ///< union-find link towards the cluster it was merged into
  };
  static bool test(const Bits& bits, ClusterId id);
  static void set(Bits& bits, ClusterId id);
  static void clear(Bits& bits, ClusterId id);
  static bool add_all(Bits& to, const Bits& from);  ///< returns whether `to` changed
  void add_ancestors(ClusterId cluster, const Bits& more);

  IdMap<ClusterId, Cluster> clusters_;
};

}  // namespace antegrad::schedule
