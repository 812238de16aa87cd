#include <algorithm>

#include "partition/extract.h"

namespace antegrad::partition {
namespace {

/// Appends nodes once each, what they read before them.
class LateOrder {
 public:
  LateOrder(const ir::Graph& joint, const Classes& classes, const Plan& plan)
      : joint_(joint), classes_(classes), pending_(plan.in_backward), is_saved_(joint.values.size()) {
    for (const auto id : plan.saved) is_saved_[at(id)] = true;
  }

  void add_node(size_t index) {
    std::vector<size_t> batch;
    take(index, batch);
    append_with_sources(batch);
  }

  void add_source_of(ir::ValueId id) {
    std::vector<size_t> batch;
    take_source(id, batch);
    append_with_sources(batch);
  }

  std::vector<size_t> order;

 private:
  void take(size_t index, std::vector<size_t>& batch) {
    if (!pending_[index]) return;
    pending_[index] = false;
    batch.push_back(index);
  }

  void take_source(ir::ValueId id, std::vector<size_t>& batch) {
    const int32_t source = classes_.definition[at(id)];
    if (source >= 0 && !is_saved_[at(id)]) take(static_cast<size_t>(source), batch);
  }

  void append_with_sources(std::vector<size_t>& batch) {
    for (size_t i = 0; i < batch.size(); ++i)
      for_each_read(joint_.nodes[batch[i]], [&](ir::ValueId id) { take_source(id, batch); });
    std::ranges::sort(batch);  // the order of the joint graph defines values before their use
    order.insert(order.end(), batch.begin(), batch.end());
  }

  const ir::Graph& joint_;
  const Classes& classes_;
  std::vector<bool> pending_;
  std::vector<bool> is_saved_;
};

}  // namespace

std::vector<size_t> backward_order(const ir::Graph& joint, const Classes& classes, const Plan& plan) {
  LateOrder late(joint, classes, plan);
  for (size_t i = 0; i < joint.nodes.size(); ++i)
    if (classes.nodes[i].backward_only) late.add_node(i);
  for (const auto& output : joint.outputs)
    if (output.role == ir::OutputRole::Grad && output.value.valid()) late.add_source_of(output.value);
  return std::move(late.order);
}

}  // namespace antegrad::partition
