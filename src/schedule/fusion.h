#pragma once
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "schedule/clusters.h"
#include "schedule/group.h"
#include "schedule/memory_model.h"
#include "schedule/places.h"

namespace antegrad::schedule {

/// Deals the nodes of a graph out to groups, each to become one kernel, and to LibTorch.
///
/// Nodes are taken in order; each joins a group that makes one of its operands when its iterations can be
/// those of the group, and groups that meet in a node are merged when theirs can.
class Fusion {
 public:
  /// With a model of memory, nothing is fused that it does not allow.
  Fusion(ir::Graph& graph, const Settings& settings, MemoryModel* memory = nullptr);
  void run();

  const ir::Graph& graph() const { return graph_; }
  const Places& places() const { return places_; }
  const IdMap<ItemId, Item>& items() const { return items_; }
  const Item& item(ItemId id) const { return items_[id]; }
  const Group& group(GroupId id) const { return groups_[id]; }

  struct Unit {
    GroupId group;    ///< or
    ir::NodeId node;  ///< a node that LibTorch runs
    std::string why;
  };
  /// In order of execution.
  std::vector<Unit> units() const;

  /// The items that make a value, its views included (several: each a part of it). Free ones have no group.
  const std::vector<ItemId>& makers(ir::ValueId id) const;
  /// The free item that makes the value; null: it has to be in memory, or in the group.
  const Item* free_item(ir::ValueId id) const;
  /// Of a value as the group computes it; nothing: not made there, or read in another order.
  std::optional<Dims> dims_in(Group& group, ir::ValueId id) const;
  bool is_zero(ir::ValueId id) const;  ///< a free item that is 0 everywhere
  /// Where the dims of an operand are among the iteration dims of its item.
  size_t first_dim(const Item& item, size_t operand) const {
    return schedule::first_dim(graph_, item, operand);
  }
  int64_t likely(const ir::Dim& dim) const { return graph_.hint_of(dim); }  ///< for estimates

 private:
  // Compile time grows faster than what is saved.
  static constexpr size_t kMostItems = 128;   ///< in a group
  static constexpr int64_t kLeastInner = 16;  ///< shorter inner loops are not worth a vector loop
  static constexpr int64_t kMostDear = 24;    ///< of these, functions that are long when inlined

  struct Extern {
    ir::NodeId node;
    std::string why;
    ClusterId cluster;
  };
  struct ClusterTime {
    int64_t key = 0;    ///< what comes first among clusters that do not depend on each other
    int64_t start = 0;  ///< after which node it runs
  };

  void add_node(ir::NodeId node);
  ClusterId add_cluster(ir::NodeId node);
  void add_item(Item item);
  Item copy_of(ir::ValueId source, const Item& scatter) const;
  bool is_free(const Item& item) const;
  int64_t count_dear(const Group& group) const;
  void seed(ItemId item);
  bool join(ItemId item, GroupId group);
  void add_to(GroupId group, ItemId item, std::vector<Atoms> placement);
  bool bind(Group& group, const Item& item, Dims& dims) const;
  bool has_long_rows(const Group& group) const;
  bool reduce(Group& group, ItemId item, const std::vector<Atoms>& placement);
  bool make_sink(Group& group, ItemId item, const Atoms& outer, bool columns);
  ir::Dim chunks_for(const Group& group, const Atoms& outer, bool columns) const;
  void finish(GroupId group, ItemId item);
  void merge_operands(ItemId item);
  bool merge(GroupId into, GroupId other, ItemId item);
  bool reads_agree(GroupId into, GroupId other, const std::map<int32_t, int32_t>& map);
  void absorb(GroupId into, GroupId other, const std::map<int32_t, int32_t>& map);
  void materialise_free();
  std::vector<ClusterId> clusters_read(const Item& item) const;
  int64_t start_of(ClusterId cluster) const;
  void set_start(ClusterId cluster, int64_t start);
  MemoryModel::Work work_of(GroupId group) const;
  MemoryModel::Work merged_work(GroupId a, GroupId b) const;
  void add_work(const Item& item, MemoryModel::Work& work) const;
  bool has_memory_for(GroupId group, const Item& item, const std::vector<ClusterId>& reads) const;
  bool has_memory_for(GroupId a, GroupId b) const;
  void add_reads(ir::ValueId value, std::vector<ClusterId>& clusters) const;
  /// The atom of a reduction's operand, or among those it keeps, that neighbours in memory differ in.
  int32_t fast_atom(const Item& item, const std::vector<Atoms>& placement, bool kept = false) const;

  ir::Graph& graph_;
  const Settings& settings_;
  MemoryModel* memory_;
  Places places_;
  IdMap<ItemId, Item> items_;
  IdMap<GroupId, Group> groups_;
  std::vector<Extern> externs_;
  std::unordered_map<ir::ValueId, std::vector<ItemId>> makers_;  ///< by owner
  std::unordered_map<ir::ValueId, ClusterId> extern_cluster_;    ///< by owner
  std::unordered_set<ir::ValueId> stored_free_;                  ///< owners that an item stores
  IdMap<ClusterId, ClusterTime> times_;
  ClusterId last_effect_;
  Clusters clusters_;
};

}  // namespace antegrad::schedule
