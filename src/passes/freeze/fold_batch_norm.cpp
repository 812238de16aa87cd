#include "passes/freeze/fold_batch_norm.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "passes/freeze/constants.h"
#include "passes/rewrite/builder.h"
#include "passes/rewrite/rewrite.h"

namespace antegrad::passes {
namespace {

/// A convolution or product that ends in output channels.
struct Layer {
  const ir::Node* node = nullptr;
  size_t weight = 0;               ///< the position of the argument
  int bias = -1;                   ///< … of the bias; -1: the op takes none
  int64_t channels_of_weight = 0;  ///< the dim of the weight that is the output channels
};

std::optional<Layer> layer_of(const ir::Graph& graph, const ir::Node& node) {
  const Call call(graph, node);
  if (node.op == "aten.mm") return Layer{&node, 1, -1, 1};
  if (node.op == "aten.addmm") {
    const auto is_one = [&](std::string_view name) { return call.keyword_number(name, 1) == 1; };
    if (!is_one("beta") || !is_one("alpha")) return std::nullopt;
    return Layer{&node, 2, 0, 1};
  }
  constexpr size_t kTransposed = 6;
  if (node.op != "aten.convolution" || call.flag(kTransposed)) return std::nullopt;
  return Layer{&node, 1, 2, 0};
}

class Folder {
 public:
  explicit Folder(ir::Graph& graph)
      : graph_(graph), constant_(constant_values(graph)), reads_(reads_by_nodes(graph)) {
    for (const auto& output : graph.outputs)
      if (output.value.valid()) ++reads_[output.value];
    for (const auto v : graph.values.ids())
      if (graph.storage_of(v) != v) ++reads_[graph.storage_of(v)];
  }

  /// Leaves the layers where they are, read by nobody.
  bool run() {
    const auto definition = definitions(graph_);
    const auto before = std::exchange(graph_.nodes, {});
    bool changed = false;
    for (const auto& node : before) {
      auto nodes = folded(node, before, definition);
      changed = changed || !nodes.empty();
      if (nodes.empty()) nodes.push_back(node);
      std::ranges::move(nodes, std::back_inserter(graph_.nodes));
    }
    if (changed) graph_.compact();
    return changed;
  }

 private:
  /// Whether the node normalizes by running statistics, and nothing reads its other results.
  bool is_norm(const ir::Node& node, const Call& call) const {
    const bool never_trains = node.op == "aten._native_batch_norm_legit_no_training";
    if (!never_trains && node.op != "aten.native_batch_norm" && node.op != "aten._native_batch_norm_legit")
      return false;
    if (!node.effects.none() || node.functional || (!never_trains && call.flag(5))) return false;
    return std::all_of(node.outputs.begin() + 1, node.outputs.end(),
                       [&](Value v) { return !v.valid() || reads_[v] == 0; });
  }

  bool is_constant(Value v, ir::DType dtype) const {
    return !v.valid() || (constant_[v] && graph_.tensor_type(v).dtype == dtype);
  }

  /// Returns what replaces a batch norm and the layer before it; empty where that is not possible.
  std::vector<ir::Node> folded(const ir::Node& norm, const std::vector<ir::Node>& before,
                               const ir::PerValue<ir::NodeId>& definition) {
    const size_t values = graph_.values.size();
    try {
      const Call call(graph_, norm);
      if (!is_norm(norm, call)) return {};
      const auto x = call.tensor(0);
      if (!definition[x].valid() || reads_[x] != 1 || !(call.type(x) == call.output_type(0))) return {};
      const auto& before_norm = before[definition[x].position()];
      const auto layer = layer_of(graph_, before_norm);
      if (!layer) return {};
      const auto dtype = graph_.tensor_type(x).dtype;
      if (dtype != ir::DType::F32 && dtype != ir::DType::F64) return {};  // narrow weights would be rounded
      const Call of_layer(graph_, before_norm);
      const auto bias =
          layer->bias < 0 ? Value() : of_layer.optional_tensor(static_cast<size_t>(layer->bias));
      for (const auto v : {of_layer.tensor(layer->weight), bias, call.optional_tensor(1),
                           call.optional_tensor(2), call.tensor(3), call.tensor(4)})
        if (!is_constant(v, dtype)) return {};
      Builder b(graph_, norm);
      emit(b, call, of_layer, *layer, bias);
      return b.take(norm);
    } catch (const NotHandled&) {
      graph_.values.resize(values);
      return {};
    }
  }

  void emit(Builder& b, const Call& norm, const Call& of_layer, const Layer& layer, Value bias) const {
    const bool never_trains = norm.node().op == "aten._native_batch_norm_legit_no_training";
    auto scale = b.rsqrt(b.add(norm.tensor(4), norm.number(never_trains ? 6 : 7)));
    if (const auto weight = norm.optional_tensor(1); weight.valid()) scale = b.mul(scale, weight);
    if (bias.valid() && b.rank(bias) != 1) throw NotHandled();
    auto shift = bias.valid() ? b.sub(bias, norm.tensor(3)) : b.neg(norm.tensor(3));
    shift = b.mul(shift, scale);
    if (const auto of_norm = norm.optional_tensor(2); of_norm.valid()) shift = b.add(shift, of_norm);
    const auto weight = of_layer.tensor(layer.weight);
    const auto scaled = b.mul(weight, b.along(scale, layer.channels_of_weight, b.rank(weight)));
    auto args = layer.node->args;
    auto op = layer.node->op;
    args[layer.weight] = scaled;
    if (layer.bias >= 0) {
      args[static_cast<size_t>(layer.bias)] = shift;
    } else {
      op = "aten.addmm";
      args.insert(args.begin(), shift);
    }
    b.emit_as(norm.output(0), op, std::move(args));
  }

  ir::Graph& graph_;
  ir::PerValue<bool> constant_;
  ir::PerValue<int32_t> reads_;  ///< by nodes, outputs of the graph, and views
};

}  // namespace

bool fold_batch_norm(ir::Graph& graph) { return is_functional(graph) && Folder(graph).run(); }

}  // namespace antegrad::passes
