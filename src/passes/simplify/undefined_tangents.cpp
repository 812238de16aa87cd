#include "passes/simplify/undefined_tangents.h"

#include <algorithm>

#include "ir/restride.h"

namespace antegrad::passes {
namespace {

enum class Status : uint8_t {
  Plain,      ///< not a gradient: a saved value, or computed only from such values
  Undefined,  ///< a gradient that autograd would leave undefined
  Given,      ///< computed for a defined tangent, but not from any tangent, such as zeros
  Defined,
};

class Specialiser {
 public:
  Specialiser(ir::Graph& graph, const std::vector<bool>& defined)
      : graph_(graph), status_(graph.values.size()), replacement_(graph.values.size()) {
    size_t k = 0;
    for (const auto& input : graph.inputs) {
      if (input.role != ir::InputRole::Tangent) continue;
      status(input.value) = defined[k] ? Status::Defined : Status::Undefined;
      if (defined[k]) defined_bits_ |= uint64_t{1} << std::min<size_t>(k, 63);
      ++k;
    }
  }

  void run(const std::vector<bool>& reached) {
    auto nodes = std::move(graph_.nodes);
    graph_.nodes.clear();
    for (auto& node : nodes) visit(std::move(node));
    for (size_t i = 0; i < graph_.outputs.size(); ++i) {
      auto& value = graph_.outputs[i].value;
      if (!value.valid()) continue;
      const bool given =
          status(value) == Status::Defined || (status(value) != Status::Undefined && reached[i]);
      if (!given) value = {};
    }
    ir::replace_uses(graph_, replacement_);
  }

 private:
  Status& status(ir::ValueId v) { return status_[v]; }
  ir::ValueId& replacement(ir::ValueId v) { return replacement_[v]; }

  void visit(ir::Node node) {
    bool undefined = false;
    auto most = Status::Plain;
    ir::for_each_input(node, [&](ir::ValueId v) {
      undefined |= status(v) == Status::Undefined;
      if (status(v) != Status::Undefined) most = std::max(most, status(v));
    });
    if (undefined && is_sum(node)) return take_defined_summand(node);
    if (undefined && most != Status::Defined) return set(node, Status::Undefined);
    ir::for_each_input(node, [&](ir::ValueId v) {
      if (status(v) == Status::Undefined && !replacement(v).valid())
        replacement(v) = zeros_like(v, node.provenance);
    });
    if (most == Status::Plain && (node.provenance.roots & defined_bits_) != 0) most = Status::Given;
    set(node, most);
    graph_.nodes.push_back(std::move(node));
  }

  void set(const ir::Node& node, Status what) {
    for (auto v : node.outputs) status(v) = what;
  }

  /// A sum as autograd emits it for a tensor that is used more than once.
  bool is_sum(const ir::Node& node) {
    if (node.op != "aten.add.Tensor" || node.args.size() != 2 || !node.attrs.empty()) return false;
    const auto* a = node.args[0].as<ir::ValueId>();
    const auto* b = node.args[1].as<ir::ValueId>();
    if (a == nullptr || b == nullptr) return false;
    const auto other = std::max(status(*a), status(*b));
    const auto &left = graph_.tensor_type(*a), &right = graph_.tensor_type(*b);
    return std::min(status(*a), status(*b)) == Status::Undefined && other > Status::Undefined &&
           left.sizes == right.sizes && left.dtype == right.dtype && left.device == right.device;
  }

  void take_defined_summand(const ir::Node& node) {
    const auto a = *node.args[0].as<ir::ValueId>();
    const auto b = *node.args[1].as<ir::ValueId>();
    auto kept = status(a) == Status::Undefined ? b : a;
    if (replacement(kept).valid()) kept = replacement(kept);
    const auto sum = node.outputs[0];
    status(sum) = std::max(status(a), status(b));
    const auto& wanted = graph_.tensor_type(sum);
    if (graph_.tensor_type(kept).strides == wanted.strides) {
      replacement(sum) = kept;
      return;
    }
    auto restride = ir::restride_node(kept, wanted);
    restride.outputs = {sum};
    restride.provenance = node.provenance;
    graph_.nodes.push_back(std::move(restride));
  }

  ir::ValueId zeros_like(ir::ValueId like, const ir::Provenance& provenance) {
    const auto type = graph_.tensor_type(like);
    ir::Node zeros;
    zeros.op = "aten.zeros";
    zeros.args = {ir::Arg(ir::Arg::List(type.sizes.begin(), type.sizes.end()))};
    zeros.attrs = {{"dtype", type.dtype}, {"device", type.device}};
    zeros.provenance = provenance;
    zeros.outputs = {add_value(ir::contiguous_tensor(type.dtype, type.sizes, type.device))};
    const auto value = zeros.outputs[0];
    graph_.nodes.push_back(std::move(zeros));
    return value;
  }

  ir::ValueId add_value(ir::TensorType type) {
    status_.push_back(Status::Plain);
    replacement_.push_back({});
    return graph_.add_value(std::move(type));
  }

  ir::Graph& graph_;
  ir::PerValue<Status> status_;
  ir::PerValue<ir::ValueId> replacement_;  ///< of a sum: its defined summand; of undefined values: zeros
  uint64_t defined_bits_ = 0;
};

}  // namespace

void drop_undefined_tangents(ir::Graph& graph, const std::vector<bool>& defined,
                             const std::vector<bool>& reached) {
  Specialiser(graph, defined).run(reached);
}

}  // namespace antegrad::passes
