#include "passes/random/functional_rng.h"

#include <algorithm>
#include <utility>

#include "passes/random/random_draws.h"
#include "passes/rewrite/builder.h"

namespace antegrad::passes {
namespace {

class Rewriter {
 public:
  explicit Rewriter(ir::Graph& graph) : graph_(graph) {}

  bool run() {
    for (auto& node : std::exchange(graph_.nodes, {})) {
      provenance_ = node.provenance;
      if (!node.effects.random || node.effects.ordered || !rewrite(node))
        graph_.nodes.push_back(std::move(node));
    }
    if (state_.valid()) graph_.compact();
    return state_.valid();
  }

 private:
  bool rewrite(const ir::Node& node) {
    if (node.op == "aten.native_dropout") return rewrite_dropout(node);
    if (node.op.starts_with("aten.rrelu_with_noise")) return rewrite_rrelu(node);
    const auto drawn = random_draw(graph_, node);
    if (!drawn || !check_tensors(node, *drawn)) return false;
    draw(*drawn, node.outputs[0]);
    return true;
  }

  /// Emits LibTorch's check of a probability or deviation that is a tensor. False if it cannot be emitted.
  bool check_tensors(const ir::Node& node, const RandomDraw& draw) {
    const auto* checked = draw.parameters.empty() ? nullptr : draw.parameters.back().as<ir::ValueId>();
    if (checked == nullptr || graph_.tensor_type(*checked).numel() == ir::Dim(0)) return true;
    Builder b(graph_, node);
    try {
      auto holds = b.compare("ge", *checked, 0.0);
      const bool is_probability = draw.op == "antegrad.random_bernoulli";
      if (is_probability) holds = b.both(holds, b.compare("le", *checked, 1.0));
      b.require(b.reduce("aten.all.dims", holds, b.all_dims(holds), false),
                is_probability ? "Expected p_in >= 0 && p_in <= 1 to be true"
                               : "normal expects all elements of std >= 0.0");
    } catch (const NotHandled&) {
      return false;
    }
    for (auto& made : b.take(node)) graph_.nodes.push_back(std::move(made));
    return true;
  }

  /// As in LibTorch: the input times a mask, times a factor that compensates for the zeros.
  bool rewrite_dropout(const ir::Node& node) {
    if (node.args.size() != 3 || node.outputs.size() != 2) return false;
    const auto* p = node.args[1].as<double>();
    const auto* train = node.args[2].as<bool>();
    const auto result = node.outputs[0], mask = node.outputs[1];
    const auto type = graph_.tensor_type(result);  // a copy, because values are added below
    const bool returns_its_input = type.numel() == ir::Dim(0);
    if (p == nullptr || (train != nullptr && !*train) || returns_its_input) return false;
    const double kept = 1 - *p;
    const RandomDraw mask_draw{"antegrad.random_bernoulli", {kept}};
    if (!can_draw(graph_, mask_draw, graph_.tensor_type(mask))) return false;
    draw(mask_draw, mask);
    const auto masked = emit("aten.mul.Tensor", {node.args[0], mask}, graph_.add_value(type));
    emit("aten.mul.Scalar", {masked, kept == 0 ? 0 : 1 / kept}, result);
    return true;
  }

  /// Keeps elements above zero and multiplies the others by a random factor. `noise` holds the factors.
  bool rewrite_rrelu(const ir::Node& node) {
    const bool known = node.op == "aten.rrelu_with_noise" || node.op == "aten.rrelu_with_noise_" ||
                       node.op == "aten.rrelu_with_noise_functional";
    const auto* x = node.args.empty() ? nullptr : node.args[0].as<ir::ValueId>();
    const auto* training = node.args.size() == 5 ? node.args[4].as<bool>() : nullptr;
    if (!known || x == nullptr || training == nullptr || !*training || node.outputs.size() != 2) return false;
    const auto type = graph_.tensor_type(node.outputs[0]);
    // With other layouts, the strides of the results would differ from the recorded ones.
    auto input_type = graph_.tensor_type(*x);
    input_type.offset = 0;
    if (!(input_type == type) || !type.is_contiguous() || !(graph_.tensor_type(node.outputs[1]) == type))
      return false;
    const RandomDraw factors{"antegrad.random_uniform", {node.args[2], node.args[3]}};
    if (!can_draw(graph_, factors, type)) return false;
    const auto drawn = draw(factors, graph_.add_value(type));
    auto mask_type = type;
    mask_type.dtype = ir::DType::Bool;
    const auto negative = emit("aten.le.Scalar", {*x, 0}, graph_.add_value(mask_type));
    const auto noise = emit("aten.where.ScalarOther", {negative, drawn, 1}, node.outputs[1]);
    emit("aten.mul.Tensor", {*x, noise}, node.outputs[0]);
    return true;
  }

  ir::ValueId draw(const RandomDraw& draw, ir::ValueId result) {
    std::vector<ir::Arg> args = {state(), next_};
    args.insert(args.end(), draw.parameters.begin(), draw.parameters.end());
    next_ = next_ + counters_used(draw, graph_.tensor_type(result));
    return emit(std::string(draw.op), std::move(args), result);
  }

  ir::ValueId emit(std::string op, std::vector<ir::Arg> args, ir::ValueId result) {
    ir::Node node;
    node.op = std::move(op);
    node.args = std::move(args);
    node.outputs = {result};
    node.provenance = provenance_;
    graph_.add_node(std::move(node));
    return result;
  }

  ir::ValueId state() {
    if (state_.valid()) return state_;
    state_ = graph_.add_input(ir::contiguous_tensor(ir::DType::I64, {2}), ir::InputRole::RngState, "rng");
    const auto added = graph_.inputs.end() - 1;
    const auto first_tangent =
        std::ranges::find(graph_.inputs.begin(), added, ir::InputRole::Tangent, &ir::Input::role);
    std::rotate(first_tangent, added, graph_.inputs.end());
    return state_;
  }

  ir::Graph& graph_;
  ir::ValueId state_;
  ir::Dim next_ = 0;  ///< the first counter that no node uses
  ir::Provenance provenance_;
};

}  // namespace

bool functional_rng(ir::Graph& graph) {
  // After a split it is too late: both halves would use the same offsets.
  const bool whole = graph.stage == ir::Stage::Functional || graph.stage == ir::Stage::Joint;
  const bool has_state =
      std::ranges::find(graph.inputs, ir::InputRole::RngState, &ir::Input::role) != graph.inputs.end();
  return whole && !has_state && Rewriter(graph).run();
}

}  // namespace antegrad::passes
