#include "capture/history_shape.h"

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/functions/tensor.h>
#include <torch/csrc/autograd/variable.h>

#include <typeinfo>
#include <unordered_map>

#include "aten/autograd_types.h"

namespace antegrad::capture {
namespace {

using torch::autograd::Edge;
using torch::autograd::Node;

/// Whether the node's backward pass follows from the op that made it.
bool is_plain(Node& node) {
  if (!node.pre_hooks().empty() || !node.post_hooks().empty() || !node.tensor_pre_hooks().empty() ||
      !node.retains_grad_hooks().empty())
    return false;
  return aten::is_generated(node) || dynamic_cast<torch::autograd::CopySlices*>(&node) != nullptr ||
         dynamic_cast<torch::autograd::CopyBackwards*>(&node) != nullptr;
}

/// Numbers nodes in the order in which they are met.
class Walk {
 public:
  explicit Walk(const std::vector<GradTarget>& targets) {
    for (const auto& target : targets) numbers_.try_emplace(target.edge.function.get(), numbers_.size());
    targets_ = numbers_.size();
  }

  void add(const Edge& edge) {
    if (!edge.is_valid()) return out_.shape.push_back(~uint64_t{0});
    const auto [found, is_new] = numbers_.try_emplace(edge.function.get(), numbers_.size());
    if (is_new) todo_.push_back(edge.function.get());
    out_.shape.insert(out_.shape.end(), {found->second, edge.input_nr});
  }

  HistoryShape run() {
    while (!todo_.empty()) {
      auto& node = *todo_.back();
      todo_.pop_back();
      out_.plain = out_.plain && is_plain(node);
      out_.shape.insert(out_.shape.end(), {typeid(node).hash_code(), node.num_outputs()});
      for (const auto& edge : node.next_edges()) add(edge);
    }
    out_.shape.push_back(targets_);
    return std::move(out_);
  }

 private:
  std::unordered_map<const Node*, uint64_t> numbers_;  ///< targets first
  uint64_t targets_ = 0;
  std::vector<Node*> todo_;
  HistoryShape out_;
};

}  // namespace

HistoryShape history_shape_of(const std::vector<GradRoot>& roots, const std::vector<GradTarget>& targets) {
  Walk walk(targets);
  for (const auto& root : roots) walk.add(torch::autograd::impl::gradient_edge(root.tensor));
  return walk.run();
}

}  // namespace antegrad::capture
