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

/// Assigns the nodes of a graph to fusion groups, each of which becomes one kernel, or to extern calls of
/// LibTorch.
///
/// Nodes are visited in order. A node joins a group that computes one of its operands when its iteration
/// space can be mapped to the loops of the group; groups with a common consumer are merged when their loops
/// can be mapped to each other. Where the target says so, a node also joins a group that reads the same input
/// or the same result of LibTorch's.
class Fusion {
 public:
  /// With a memory model, fusions that it does not allow are rejected.
  Fusion(ir::Graph& graph, const Settings& settings, MemoryModel* memory = nullptr);
  void run();

  const ir::Graph& graph() const { return graph_; }
  const Places& places() const { return places_; }
  const IdMap<ItemId, Item>& items() const { return items_; }
  const Item& item(ItemId id) const { return items_[id]; }
  const Group& group(GroupId id) const { return groups_[id]; }
  const Target& target_of(const Group& group) const { return *settings_.target_for(group.device); }

  struct Unit {
    GroupId group;    ///< not valid for an extern call
    ir::NodeId node;  ///< the node that LibTorch runs, for an extern call
    std::string why;
  };
  /// Returns the groups and extern calls in order of execution.
  std::vector<Unit> units() const;

  /// Returns the items that compute a value or the owner of a view; several when each computes a part of it.
  /// Free items belong to no group.
  const std::vector<ItemId>& makers(ir::ValueId id) const;
  /// Returns the free item that computes the value, or null when there is none.
  const Item* free_item(ir::ValueId id) const;
  /// Returns the atoms of each dim of a value that the group computes; nothing when the group does not
  /// compute it or a view on the way cannot be followed (Group::through).
  std::optional<Dims> dims_in(Group& group, ir::ValueId id) const;
  bool is_zero(ir::ValueId id) const;  ///< whether a free item makes it zero everywhere
  /// Returns the position of the operand's first dim among the iteration dims of the item.
  size_t first_dim(const Item& item, size_t operand) const {
    return schedule::first_dim(graph_, item, operand);
  }
  /// The hint for a size: for estimates only.
  int64_t likely(const ir::Dim& dim) const { return graph_.hint_of(dim); }

 private:
  struct Extern {
    ir::NodeId node;
    std::string why;
    ClusterId cluster;
  };
  struct ClusterTime {
    int64_t key = 0;    ///< position among clusters that do not depend on each other
    int64_t start = 0;  ///< index of the node after which it runs
  };

  void add_node(ir::NodeId node);
  ClusterId add_cluster(ir::NodeId node);
  void add_item(Item item);
  Item copy_of(ir::ValueId source, const Item& scatter) const;
  const ir::Device& device_of(const Item& item) const { return graph_.tensor_type(item.output).device; }
  bool is_free(const Item& item) const;
  int64_t count_expensive(const Group& group) const;
  void seed(ItemId item);
  bool join(ItemId item, GroupId group, bool as_sibling = false);
  std::vector<GroupId> siblings(const Item& item) const;
  std::optional<Dims> dims_read(const Group& group, ir::ValueId id) const;
  void note_reads(ItemId item);
  void add_to(GroupId group, ItemId item, std::vector<Atoms> placement);
  bool bind(Group& group, const Item& item, Dims& dims) const;
  bool has_long_rows(const Group& group) const;
  bool reduce(Group& group, ItemId item, const std::vector<Atoms>& placement);
  bool make_sink(Group& group, ItemId item, const Atoms& outer, bool columns);
  ir::Dim chunks_for(const Group& group, const Atoms& outer, bool columns) const;
  void finish(GroupId group, ItemId item);
  bool finish_alike(GroupId group, ItemId item);
  void merge_operands(ItemId item);
  bool merge(GroupId into, GroupId other, ItemId item);
  bool reads_agree(GroupId into, GroupId other, const std::map<int32_t, int32_t>& map);
  void absorb(GroupId into, GroupId other, const std::map<int32_t, int32_t>& map);
  void materialise_free();
  void keep_order(ClusterId cluster, const ir::Effects& effects);
  std::vector<ClusterId> clusters_read(const Item& item) const;
  int64_t start_of(ClusterId cluster) const;
  void set_start(ClusterId cluster, int64_t start);
  MemoryModel::Work work_of(GroupId group) const;
  MemoryModel::Work merged_work(GroupId a, GroupId b) const;
  void add_work(const Item& item, MemoryModel::Work& work) const;
  bool has_memory_for(GroupId group, const Item& item, const std::vector<ClusterId>& reads) const;
  bool has_memory_for(GroupId a, GroupId b) const;
  void add_reads(ir::ValueId value, std::vector<ClusterId>& clusters) const;
  /// Returns the atom with the smallest stride in the operand of a reduction; with `kept`, among the dims
  /// that the reduction keeps.
  int32_t fast_atom(const Item& item, const std::vector<Atoms>& placement, bool kept = false) const;

  ir::Graph& graph_;
  const Settings& settings_;
  MemoryModel* memory_;
  Places places_;
  IdMap<ItemId, Item> items_;
  IdMap<GroupId, Group> groups_;
  std::vector<Extern> externs_;
  std::unordered_map<ir::ValueId, std::vector<ItemId>> makers_;   ///< by owner of the memory
  std::unordered_map<ir::ValueId, ClusterId> extern_cluster_;     ///< by owner of the memory
  std::unordered_map<ir::ValueId, std::vector<ItemId>> readers_;  ///< of inputs and of LibTorch's results
  std::unordered_map<GroupId, ItemId> finishes_;  ///< the first item that finishes a sink of a group
  std::unordered_set<ir::ValueId> stored_free_;   ///< owners for which a free item was also given a kernel
  IdMap<ClusterId, ClusterTime> times_;
  std::map<std::string, ClusterId> last_effects_;  ///< by what they act on
  Clusters clusters_;
};

}  // namespace antegrad::schedule
