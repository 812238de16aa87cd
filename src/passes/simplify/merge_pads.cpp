#include "passes/simplify/merge_pads.h"

#include <algorithm>
#include <optional>
#include <ranges>

#include "passes/rewrite/rewrite.h"

namespace antegrad::passes {
namespace {

using ir::ValueId;

/// The part of a padded tensor that is not padding: [begin, end) of one dim.
struct Part {
  ValueId source;
  size_t dim = 0;
  int64_t begin = 0, end = 0;
};

bool is_zero(const ir::Arg& arg) {
  if (const auto* number = arg.as<double>()) return *number == 0;
  const auto* dim = arg.as<ir::Dim>();
  return dim != nullptr && dim->is(0);
}

/// The terms of a sum: parts along one dim, and at most one other tensor.
struct Sum {
  std::vector<Part> parts;
  ValueId other;
};

class PadMerger {
 public:
  explicit PadMerger(ir::Graph& graph)
      : graph_(graph), definition_(definitions(graph)), reads_(reads_by_nodes(graph)) {
    for (const auto& output : graph.outputs)
      if (output.value.valid()) ++reads_[output.value];
    for (const auto& node : graph.nodes)
      for (auto id : node.effects.writes) ++reads_[id];
  }

  bool run() {
    ir::PerNode<std::vector<ir::Node>> before(graph_.nodes.size());
    ir::PerNode<bool> inside(graph_.nodes.size());  // of a sum that is merged
    bool changed = false;
    for (const auto n : graph_.node_ids() | std::views::reverse) {
      if (inside[n] || !is_sum(graph_.node(n))) continue;
      std::vector<ir::NodeId> members;
      auto sum = terms(n, members);
      if (!sum || !lie_side_by_side(*sum)) continue;
      for (auto member : members) inside[member] = true;
      before[n] = merged(*sum, n);
      changed = true;
    }
    if (changed) insert(before, inside);
    return changed;
  }

 private:
  bool is_sum(const ir::Node& node) const {
    if (node.op != "aten.add.Tensor" || node.args.size() != 2 || !node.attrs.empty()) return false;
    const auto& type = graph_.tensor_type(node.outputs[0]);
    const auto is_alike = [&](const ir::Arg& arg) {
      const auto* id = arg.as<ValueId>();
      const auto* tensor = id == nullptr ? nullptr : graph_.type_of(*id).tensor();
      return tensor != nullptr && tensor->dtype == type.dtype && tensor->sizes == type.sizes;
    };
    return type.is_contiguous() && is_alike(node.args[0]) && is_alike(node.args[1]);
  }

  /// Whether both nodes become undefined in the same cases, if some tangents are undefined.
  bool belongs_to(const ir::Node& node, const ir::Node& root) const {
    return node.provenance.roots == root.provenance.roots &&
           node.provenance.backward == root.provenance.backward;
  }

  /// `members`: the nodes, including the root, that are not needed once the sum is computed otherwise.
  std::optional<Sum> terms(ir::NodeId root, std::vector<ir::NodeId>& members) const {
    Sum sum;
    std::vector<ir::NodeId> open{root};
    while (!open.empty()) {
      const auto n = open.back();
      open.pop_back();
      members.push_back(n);
      for (const auto& arg : graph_.node(n).args) {
        const auto id = *arg.as<ValueId>();
        const auto defined = definition_[id];
        const auto* node = defined.valid() ? &graph_.node(defined) : nullptr;
        const bool is_ours = node != nullptr && reads_[id] == 1 && belongs_to(*node, graph_.node(root));
        if (is_ours && is_sum(*node)) {
          open.push_back(defined);
        } else if (const auto part = is_ours ? part_of(*node) : std::nullopt) {
          sum.parts.push_back(*part);
          members.push_back(defined);
        } else if (!sum.other.valid()) {
          sum.other = id;
        } else {
          return std::nullopt;
        }
      }
    }
    return sum;
  }

  /// Returns nothing if the padding is not zero, in several dims, or not constant.
  std::optional<Part> part_of(const ir::Node& node) const {
    if (node.op != "aten.constant_pad_nd" || (node.args.size() > 2 && !is_zero(node.args[2])) ||
        !node.attrs.empty())
      return std::nullopt;
    const auto* source = node.args[0].as<ValueId>();
    const auto* pads = node.args[1].as<ir::Arg::List>();
    if (source == nullptr || pads == nullptr) return std::nullopt;
    const auto& sizes = graph_.tensor_type(*source).sizes;
    std::optional<Part> part;
    for (size_t i = 0; i + 1 < pads->size(); i += 2) {
      if (is_zero((*pads)[i]) && is_zero((*pads)[i + 1])) continue;
      const auto d = sizes.size() - 1 - i / 2;
      const auto *before = (*pads)[i].as<ir::Dim>(), *after = (*pads)[i + 1].as<ir::Dim>();
      if (part || before == nullptr || after == nullptr || !before->is_constant() || !after->is_constant() ||
          !sizes[d].is_constant())
        return std::nullopt;
      if (before->constant() < 0 || after->constant() < 0) return std::nullopt;
      part = Part{*source, d, before->constant(), before->constant() + sizes[d].constant()};
    }
    return part;
  }

  static bool lie_side_by_side(Sum& sum) {
    auto& parts = sum.parts;
    if (parts.size() < 2) return false;
    std::ranges::sort(parts, {}, &Part::begin);
    for (size_t i = 1; i < parts.size(); ++i)
      if (parts[i].dim != parts[0].dim || parts[i].begin != parts[i - 1].end) return false;
    return true;
  }

  /// Returns the nodes that replace the sum.
  std::vector<ir::Node> merged(const Sum& sum, ir::NodeId root) {
    const auto result = graph_.node(root).outputs[0];
    const auto whole = graph_.tensor_type(result);
    const auto d = sum.parts[0].dim;
    const auto size = whole.sizes[d].constant();
    const auto begin = sum.parts.front().begin, end = sum.parts.back().end;
    std::vector<ir::Node> nodes;
    const auto add = [&](std::string op, std::vector<ir::Arg> args, const std::vector<ir::Dim>& sizes,
                         bool is_last) {
      auto type = ir::contiguous_tensor(whole.dtype, sizes);
      type.device = whole.device;
      ir::Node node;
      node.op = std::move(op);
      node.args = std::move(args);
      node.provenance = graph_.node(root).provenance;
      node.outputs = {is_last ? result : graph_.add_value(type)};
      nodes.push_back(node);
      return node.outputs[0];
    };
    auto sizes = whole.sizes;
    sizes[d] = ir::Dim(end - begin);
    const bool is_whole = end - begin == size, is_alone = !sum.other.valid();
    ir::Arg::List sources;
    for (const auto& part : sum.parts) sources.emplace_back(part.source);
    auto value = add("aten.cat", {sources, static_cast<int64_t>(d)}, sizes, is_whole && is_alone);
    if (!is_whole) {
      ir::Arg::List pads(2 * (sizes.size() - d), ir::Arg(0));
      pads[pads.size() - 2] = ir::Arg(begin);
      pads[pads.size() - 1] = ir::Arg(size - end);
      value = add("aten.constant_pad_nd", {value, pads}, whole.sizes, is_alone);
    }
    if (!is_alone) add("aten.add.Tensor", {sum.other, value}, whole.sizes, true);
    return nodes;
  }

  void insert(ir::PerNode<std::vector<ir::Node>>& in_place_of, const ir::PerNode<bool>& inside) {
    std::vector<ir::Node> nodes;
    for (const auto n : graph_.node_ids()) {
      if (!inside[n]) nodes.push_back(std::move(graph_.node(n)));
      std::ranges::move(in_place_of[n], std::back_inserter(nodes));
    }
    graph_.nodes = std::move(nodes);
    graph_.compact();
  }

  ir::Graph& graph_;
  const ir::PerValue<ir::NodeId> definition_;
  ir::PerValue<int32_t> reads_;
};

}  // namespace

bool merge_pads(ir::Graph& graph) { return is_functional(graph) && PadMerger(graph).run(); }

}  // namespace antegrad::passes
