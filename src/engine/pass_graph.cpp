#include "engine/pass_graph.h"

#include <c10/core/impl/VirtualGuardImpl.h>
#include <fmt/format.h>

#include <algorithm>

#include "antegrad/error.h"
#include "engine/flat_index.h"

namespace antegrad::engine {
namespace {

[[noreturn]] void refuse(const Node& node, const char* why) {
  throw Error(ErrorCode::UnsupportedOp, "compiled autograd", fmt::format("{} {}", node.name(), why));
}

c10::Stream current_stream(c10::Device device) {
  return c10::impl::VirtualGuardImpl(device.type()).getStream(device);
}

}  // namespace

/// Follows edges breadth first.
class PassGraph::Builder {
 public:
  Builder(PassGraph& graph, const torch::autograd::GraphTask& task)
      : graph_(graph), asked_(task.exec_info_), index_(task.dependencies_.size()) {
    graph_.items.reserve(task.dependencies_.size());
    graph_.links.reserve(task.dependencies_.size() * 3 / 2 + 2);
  }

  void follow(const Node& from) {
    for (const auto& edge : from.next_edges()) graph_.links.push_back(edge.is_valid() ? link(edge) : Link());
  }

  void follow_all() {
    for (uint32_t i = 0; i < graph_.items.size(); ++i) {
      graph_.items[i].first_link = static_cast<uint32_t>(graph_.links.size());
      if (graph_.items[i].needed) follow(graph_.node(i));
    }
  }

 private:
  Link link(const torch::autograd::Edge& edge) {
    if (edge.function.get() == last_) return counted(last_index_, edge);
    if (!asked_.empty()) {
      const auto found = asked_.find(edge.function.get());
      if (found == asked_.end() || !found->second.should_execute()) return {};
    }
    const auto [index, added] = index_.number(reinterpret_cast<uintptr_t>(edge.function.get()));
    if (added) add(edge);
    last_ = edge.function.get();
    last_index_ = index;
    return counted(index, edge);
  }

  Link counted(uint32_t index, const torch::autograd::Edge& edge) {
    auto& item = graph_.items[index];
    if (edge.input_nr >= edge.function->num_inputs())
      refuse(*edge.function, "gets more gradients than it takes");
    ++item.waits;
    return {index, item.first_slot + edge.input_nr};
  }

  void add(const torch::autograd::Edge& edge) {
    check_inputs(*edge.function);
    auto& item = graph_.items.emplace_back();
    item.node = &edge.function;
    item.kind = kind_of(*edge.function);
    item.first_slot = graph_.slots;
    graph_.slots += edge.function->num_inputs();
    if (asked_.empty()) return;
    const auto& info = asked_.at(edge.function.get());
    item.needed = info.needed_;
    item.captures = info.captures_.get();
  }

  /// All nodes must be on the CPU, or on one CUDA device and its current stream: nothing has to wait for
  /// another stream then.
  void check_inputs(const Node& node) {
    for (uint32_t i = 0; i < node.num_inputs(); ++i) {
      const auto& metadata = node.input_metadata(i);
      const auto device = metadata.device();
      if (metadata.is_nested_tensor() || metadata.layout() != at::kStrided ||
          !(device.is_cpu() || device.is_cuda()))
        refuse(node, "takes a gradient that is not a plain tensor on the CPU or a CUDA device");
      if (device.is_cpu()) continue;
      if (!graph_.stream) graph_.stream = current_stream(device);
      if (graph_.stream->device() != device) refuse(node, "takes a gradient on a second CUDA device");
      if (*graph_.stream != metadata.stream()) refuse(node, "runs on another stream than the current one");
    }
  }

  PassGraph& graph_;
  const std::unordered_map<Node*, torch::autograd::GraphTask::ExecInfo>& asked_;
  FlatIndex<uintptr_t> index_;
  const Node* last_ = nullptr;  ///< several edges in a row often lead to one node
  uint32_t last_index_ = 0;
};

PassGraph::PassGraph(const Node& root, const torch::autograd::GraphTask& task) {
  Builder builder(*this, task);
  builder.follow(root);
  const auto root_links = static_cast<uint32_t>(links.size());
  builder.follow_all();
  put_in_order(root_links);
}

/// Orders items as the engine's queue does: what was made last runs first. The order of equal ones is the
/// heap's, so pushes are in the engine's order as well.
void PassGraph::put_in_order(uint32_t root_links) {
  struct Ready {
    uint64_t made;
    uint32_t item;
    bool operator<(const Ready& other) const { return made < other.made; }
  };
  std::vector<Ready> ready;
  const auto let_go = [&](uint32_t first, uint32_t count) {
    for (uint32_t i = first; i < first + count; ++i) {
      if (links[i].item == kNoNode || --items[links[i].item].waits != 0) continue;
      ready.push_back({node(links[i].item).sequence_nr(), links[i].item});
      std::push_heap(ready.begin(), ready.end());
    }
  };
  order.reserve(items.size());
  let_go(0, root_links);
  while (!ready.empty()) {
    const auto next = ready.front().item;
    std::pop_heap(ready.begin(), ready.end());
    ready.pop_back();
    order.push_back(next);
    if (items[next].needed) let_go(items[next].first_link, node(next).num_outputs());
  }
}

}  // namespace antegrad::engine
