#include <algorithm>

#include "partition/extract.h"

namespace antegrad::partition {
namespace {

/// Appends each node once, after those that it reads from.
class LateOrder {
 public:
  LateOrder(const ir::Graph& joint, const Classes& classes, const Plan& plan)
      : joint_(joint), classes_(classes), pending_(plan.in_backward), is_saved_(joint.values.size()) {
    for (const auto id : plan.saved) is_saved_[id] = true;
  }

  void add_node(ir::NodeId index) {
    std::vector<ir::NodeId> batch;
    take(index, batch);
    append_with_sources(batch);
  }

  void add_source_of(ir::ValueId id) {
    std::vector<ir::NodeId> batch;
    take_source(id, batch);
    append_with_sources(batch);
  }

  std::vector<ir::NodeId> order;

 private:
  void take(ir::NodeId index, std::vector<ir::NodeId>& batch) {
    if (!pending_[index]) return;
    pending_[index] = false;
    batch.push_back(index);
  }

  void take_source(ir::ValueId id, std::vector<ir::NodeId>& batch) {
    const auto source = classes_.values[id].definition;
    if (source.valid() && !is_saved_[id]) take(source, batch);
  }

  void append_with_sources(std::vector<ir::NodeId>& batch) {
    for (size_t i = 0; i < batch.size(); ++i)
      for_each_read(joint_.node(batch[i]), [&](ir::ValueId id) { take_source(id, batch); });
    std::ranges::sort(batch);  // in the joint graph, values are defined before their use
    order.insert(order.end(), batch.begin(), batch.end());
  }

  const ir::Graph& joint_;
  const Classes& classes_;
  ir::PerNode<bool> pending_;
  ir::PerValue<bool> is_saved_;
};

}  // namespace

std::vector<ir::NodeId> backward_order(const ir::Graph& joint, const Classes& classes, const Plan& plan) {
  LateOrder late(joint, classes, plan);
  for (const auto i : joint.node_ids())
    if (classes.nodes[i].backward_only) late.add_node(i);
  for (const auto& output : joint.outputs)
    if (output.role == ir::OutputRole::Grad && output.value.valid()) late.add_source_of(output.value);
  return std::move(late.order);
}

}  // namespace antegrad::partition
