#pragma once
#include <map>
#include <string>
#include <unordered_map>
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
  const std::vector<Item>& items() const { return items_; }
  const Group& group(int32_t index) const { return groups_[static_cast<size_t>(index)]; }

  struct Unit {
    int32_t group = -1;  ///< or
    int32_t node = -1;   ///< a node that LibTorch runs
    std::string why;
  };
  /// In order of execution.
  std::vector<Unit> units() const;

  /// The items that make a value, its views included (several: each a part of it). Free ones have no group.
  const std::vector<int32_t>& makers(ir::ValueId id) const;
  int32_t group_of(int32_t item) const { return item_group_[static_cast<size_t>(item)]; }
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

  void add_node(int32_t node);
  void add_item(Item item);
  Item copy_of(ir::ValueId source, const Item& scatter) const;
  bool is_free(const Item& item) const;
  int64_t count_dear(const Group& group) const;
  void seed(int32_t item);
  bool join(int32_t item, int32_t group);
  void add_to(int32_t group, int32_t item, std::vector<Atoms> placement);
  bool bind(Group& group, const Item& item, Dims& dims) const;
  bool has_long_rows(const Group& group) const;
  bool reduce(Group& group, int32_t item, const std::vector<Atoms>& placement);
  bool make_sink(Group& group, int32_t item, const Atoms& outer, bool columns);
  ir::Dim chunks_for(const Group& group, const Atoms& outer, bool columns) const;
  void finish(int32_t group, int32_t item);
  void merge_operands(int32_t item);
  bool merge(int32_t into, int32_t other, int32_t item);
  bool reads_agree(int32_t into, int32_t other, const std::map<int32_t, int32_t>& map);
  void absorb(int32_t into, int32_t other, const std::map<int32_t, int32_t>& map);
  void materialise_free();
  std::vector<int32_t> clusters_read(const Item& item) const;
  int64_t start_of(int32_t cluster) const;
  void set_start(int32_t cluster, int64_t start);
  MemoryModel::Work work_of(int32_t group) const;
  MemoryModel::Work merged_work(int32_t a, int32_t b) const;
  void add_work(const Item& item, MemoryModel::Work& work) const;
  bool has_memory_for(int32_t group, const Item& item, const std::vector<int32_t>& reads) const;
  bool has_memory_for(int32_t a, int32_t b) const;
  void add_reads(ir::ValueId value, std::vector<int32_t>& clusters) const;
  /// The atom of a reduction's operand, or among those it keeps, that neighbours in memory differ in.
  int32_t fast_atom(const Item& item, const std::vector<Atoms>& placement, bool kept = false) const;

  ir::Graph& graph_;
  const Settings& settings_;
  MemoryModel* memory_;
  Places places_;
  std::vector<Item> items_;
  std::vector<int32_t> item_group_;  ///< -1: free
  std::vector<Group> groups_;
  std::vector<int32_t> group_cluster_;
  std::vector<bool> group_alive_;
  std::unordered_map<int32_t, std::vector<int32_t>> makers_;  ///< by owner
  std::unordered_map<int32_t, int32_t> extern_cluster_;       ///< by owner
  std::vector<std::pair<int32_t, std::string>> externs_;      ///< node, why
  std::vector<int32_t> extern_clusters_;
  std::unordered_map<int32_t, int32_t> stored_free_;  ///< by owner: the item that stores it
  std::vector<int64_t> cluster_key_;
  std::vector<int64_t> cluster_start_;  ///< after which node it runs
  int32_t last_effect_ = -1;            ///< cluster
  Clusters clusters_;
};

}  // namespace antegrad::schedule
