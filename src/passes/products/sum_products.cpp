#include "passes/products/sum_products.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <ranges>

#include "passes/decompositions/small_matmul.h"
#include "passes/products/concatenate.h"
#include "passes/rewrite/rewrite.h"

namespace antegrad::passes {
namespace {

constexpr size_t kFewest = 3;               ///< products in a sum
constexpr int64_t kMostElements = 1 << 20;  ///< of the left matrices that wait for one product

struct Product {
  ir::NodeId node;
  Value left, right;
};

/// The terms of a sum, in the order in which they are added.
struct Sum {
  std::vector<Product> products;  ///< in the order of their nodes
  std::vector<Value> others;
};

class Joiner {
 public:
  explicit Joiner(ir::Graph& graph) : graph_(graph), sources_(graph), reads_(reads_by_nodes(graph)) {
    for (const auto& output : graph.outputs)
      if (output.value.valid()) ++reads_[output.value];
    for (const auto& node : graph.nodes)
      for (auto id : node.effects.writes) ++reads_[id];
  }

  bool run() {
    ir::PerNode<std::vector<ir::Node>> instead(graph_.nodes.size());
    ir::PerNode<bool> inside(graph_.nodes.size());  // of a sum that is replaced
    bool changed = false;
    for (const auto n : graph_.node_ids() | std::views::reverse) {
      if (inside[n] || !is_sum(graph_.node(n))) continue;
      std::vector<ir::NodeId> members;
      const auto sum = terms(n, members);
      if (!is_worth_it(sum)) continue;
      join(sum, n, instead);
      for (auto member : members) inside[member] = true;
      changed = true;
    }
    if (changed) insert(instead, inside);
    return changed;
  }

 private:
  const ir::TensorType& type(Value id) const { return graph_.tensor_type(id); }

  bool is_alike(const ir::Arg& arg, const ir::TensorType& result) const {
    const auto* id = arg.as<Value>();
    const auto* tensor = id == nullptr ? nullptr : graph_.type_of(*id).tensor();
    return tensor != nullptr && tensor->dtype == result.dtype && tensor->sizes == result.sizes;
  }

  /// Rounding of the half types between the products would be lost.
  bool is_sum(const ir::Node& node) const {
    if (node.op != "aten.add.Tensor" || node.args.size() != 2 || !node.attrs.empty()) return false;
    const auto& result = type(node.outputs[0]);
    const bool is_wide = result.dtype == ir::DType::F32 || result.dtype == ir::DType::F64;
    return is_wide && result.device.kind == ir::Device::Kind::Cpu && result.sizes.size() == 2 &&
           result.is_contiguous() && is_alike(node.args[0], result) && is_alike(node.args[1], result);
  }

  std::optional<Product> product_of(ir::NodeId n) const {
    const auto& node = graph_.node(n);
    if (node.op != "aten.mm" || node.args.size() != 2 || !node.effects.none()) return std::nullopt;
    return Product{n, *node.args[0].as<Value>(), *node.args[1].as<Value>()};
  }

  /// Whether both nodes become undefined in the same cases, if some tangents are undefined.
  bool belongs_to(const ir::Node& node, const ir::Node& root) const {
    return node.provenance.roots == root.provenance.roots &&
           node.provenance.backward == root.provenance.backward;
  }

  /// `members`: the nodes, including the root, that are not needed once the sum is computed otherwise.
  Sum terms(ir::NodeId root, std::vector<ir::NodeId>& members) const {
    Sum sum;
    std::vector<ir::Arg> open(graph_.node(root).args.rbegin(), graph_.node(root).args.rend());
    members.push_back(root);
    while (!open.empty()) {
      const auto id = *open.back().as<Value>();
      open.pop_back();
      const auto defined = sources_.definition[id];
      const auto* node = defined.valid() ? &graph_.node(defined) : nullptr;
      const bool is_ours = node != nullptr && reads_[id] == 1 && belongs_to(*node, graph_.node(root));
      if (is_ours && is_sum(*node)) {
        std::copy(node->args.rbegin(), node->args.rend(), std::back_inserter(open));
        members.push_back(defined);
      } else if (const auto product = is_ours ? product_of(defined) : std::nullopt) {
        sum.products.push_back(*product);
        members.push_back(defined);
      } else {
        sum.others.push_back(id);
      }
    }
    std::ranges::sort(sum.products, {}, [](const Product& p) { return p.node.index; });
    return sum;
  }

  int64_t elements(Value matrix) const { return graph_.hint_of(type(matrix).numel()); }

  /// Small products become part of kernels, which add them up on the way.
  bool is_worth_it(const Sum& sum) const {
    if (sum.products.size() < kFewest) return false;
    int64_t copied = 0, added = 0;
    for (const auto& [node, left, right] : sum.products) {
      const auto depth = graph_.hint_of(type(left).sizes[1]);
      if (depth == 0) return false;
      const auto result = elements(left) / depth * (elements(right) / depth);
      if (result * depth <= kSmallMatmul) return false;
      copied += 2 * (elements(left) + elements(right));
      added += 3 * result;  // written, read, and the sum written
    }
    return copied < added;
  }

  /// Makes the nodes that replace the sum. Some products at a time are added up as soon as their matrices
  /// exist, so that not all of these wait for the end of a long loop.
  void join(const Sum& sum, ir::NodeId root, ir::PerNode<std::vector<ir::Node>>& instead) {
    const auto node = graph_.node(root);
    Value total;
    for (size_t begin = 0, end = 0; begin < sum.products.size(); begin = end) {
      std::vector<Value> lefts, rights;
      for (int64_t waiting = 0; end < sum.products.size() && (end == begin || waiting < kMostElements);
           ++end) {
        waiting += elements(sum.products[end].left);
        lefts.push_back(sum.products[end].left);
        rights.push_back(sum.products[end].right);
      }
      Builder b(graph_, node);
      const auto left = concatenated(b, sources_, lefts, 1), right = concatenated(b, sources_, rights, 0);
      const auto product = b.emit("aten.mm", {left, right}, type(node.outputs[0]));
      total = total.valid() ? b.add(total, product) : product;
      ir::Node made;
      made.outputs = {total};
      if (end == sum.products.size() && sum.others.empty()) {
        b.define(node.outputs[0], total);
        made = node;
      }
      auto nodes = b.take(made);
      std::ranges::move(nodes, std::back_inserter(instead[sum.products[end - 1].node]));
    }
    if (sum.others.empty()) return;
    Builder b(graph_, node);
    for (const auto other : sum.others) total = b.add(other, total);
    b.define(node.outputs[0], total);
    auto nodes = b.take(node);
    std::ranges::move(nodes, std::back_inserter(instead[root]));
  }

  void insert(ir::PerNode<std::vector<ir::Node>>& instead, const ir::PerNode<bool>& inside) {
    std::vector<ir::Node> nodes;
    for (const auto n : graph_.node_ids()) {
      if (!inside[n]) nodes.push_back(std::move(graph_.node(n)));
      std::ranges::move(instead[n], std::back_inserter(nodes));
    }
    graph_.nodes = std::move(nodes);
    graph_.compact();
  }

  ir::Graph& graph_;
  const Sources sources_;
  ir::PerValue<int32_t> reads_;
};

}  // namespace

bool sum_products(ir::Graph& graph) { return is_functional(graph) && Joiner(graph).run(); }

}  // namespace antegrad::passes
