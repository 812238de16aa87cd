#pragma once
// Builds joint graphs for tests and benchmarks of the partitioner: records forward ops, then their
// derivatives in reverse, as the autograd engine would. Tensors have two dimensions and are f32.
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "ir/graph.h"

namespace antegrad {

class JointTape {
 public:
  using Id = ir::ValueId;
  using Args = std::vector<ir::Arg>;

  explicit JointTape(std::string name = "f") {
    graph_.name = std::move(name);
    graph_.stage = ir::Stage::Joint;
  }

  Id input(ir::Dim rows, ir::Dim columns, ir::InputRole role = ir::InputRole::UserInput) {
    const auto id = graph_.add_input(ir::contiguous_tensor(ir::DType::F32, {rows, columns}), role,
                                     "i" + std::to_string(graph_.inputs.size()));
    return id;
  }
  ir::Dim rows(Id id) const { return graph_.tensor_type(id).sizes[0]; }
  ir::Dim columns(Id id) const { return graph_.tensor_type(id).sizes[1]; }
  const ir::Graph& graph() const { return graph_; }
  void scope(std::string scope) { scope_ = std::move(scope); }

  /// Adds an op whose derivative is an op on the same argument, as with sin and cos.
  Id unary(const std::string& op, const std::string& derivative, Id x) {
    const auto y = like(op, {x}, x);
    on_backward(y, [=, this](Id g) {
      add_grad(x, like("aten.mul.Tensor", {g, like(derivative, {x}, x)}, x));
    });
    return y;
  }
  Id tanh(Id x) {
    const auto y = like("aten.tanh", {x}, x);
    on_backward(y, [=, this](Id g) { add_grad(x, like("aten.tanh_backward", {g, y}, x)); });
    return y;
  }
  Id add(Id a, Id b) {
    const auto y = like("aten.add.Tensor", {a, b}, a);
    on_backward(y, [=, this](Id g) {
      add_grad(a, g);
      add_grad(b, g);
    });
    return y;
  }
  Id mul(Id a, Id b) {
    const auto y = like("aten.mul.Tensor", {a, b}, a);
    on_backward(y, [=, this](Id g) {
      add_grad(a, like("aten.mul.Tensor", {g, b}, a));
      add_grad(b, like("aten.mul.Tensor", {g, a}, b));
    });
    return y;
  }
  Id transpose(Id x) {
    const auto y = transposed(x);
    on_backward(y, [=, this](Id g) { add_grad(x, transposed(g)); });
    return y;
  }
  Id mm(Id a, Id b) {
    const auto y = product(a, b);
    on_backward(y, [=, this](Id g) {
      add_grad(a, product(g, transposed(b)));
      add_grad(b, product(transposed(a), g));
    });
    return y;
  }
  Id softmax(Id x) {
    const auto y = like("aten._softmax", {x, -1, false}, x);
    on_backward(y, [=, this](Id g) {
      add_grad(x, like("aten._softmax_backward_data", {g, y, -1, ir::DType::F32}, x));
    });
    return y;
  }
  /// Sums over the columns and expands the sum to them again.
  Id sum_and_expand(Id x) {
    const auto y = expand(sum(x), x);
    on_backward(y, [=, this](Id g) { add_grad(x, expand(sum(g), x)); });
    return y;
  }
  Id layer_norm(Id x) {
    const auto statistic = ir::contiguous_tensor(ir::DType::F32, {rows(x), 1});
    const auto out = emit("aten.native_layer_norm", {x, shape_of_row(x), ir::None{}, ir::None{}, 1e-5},
                          {fresh(x), statistic, statistic});
    on_backward(out[0], [=, this](Id g) {
      const auto grads = emit(
          "aten.native_layer_norm_backward",
          {g, x, shape_of_row(x), out[1], out[2], ir::None{}, ir::None{}, ir::Arg::List{true, false, false}},
          {fresh(x), ir::Type(ir::ScalarKind::None), ir::Type(ir::ScalarKind::None)});
      add_grad(x, grads[0]);
    });
    return out[0];
  }
  Id dropout(Id x) {
    auto mask = ir::contiguous_tensor(ir::DType::Bool, {rows(x), columns(x)});
    const auto out =
        emit("aten.native_dropout", {x, 0.5, true}, {fresh(x), mask}, {.random = true, .writes = {}});
    on_backward(out[0], [=, this](Id g) {
      add_grad(x, like("aten.native_dropout_backward", {g, out[1], 2.0}, x));
    });
    return out[0];
  }
  /// Multiplies the upper half of the rows by the lower half.
  Id split_and_multiply(Id x) {
    const auto half = floor_div(rows(x), 2);
    auto low = ir::contiguous_tensor(ir::DType::F32, {half, columns(x)});
    auto high = low;
    high.offset = half * columns(x);
    const auto halves = emit("aten.split.Tensor", {x, half}, {low, high}, {}, x, {2});
    const auto y = like("aten.mul.Tensor", {halves[0], halves[1]}, halves[0]);
    on_backward(y, [=, this](Id g) {
      const Args parts = {like("aten.mul.Tensor", {g, halves[1]}, y),
                          like("aten.mul.Tensor", {g, halves[0]}, y)};
      add_grad(x, like("aten.cat", {ir::Arg(parts)}, x));
    });
    return y;
  }
  /// The backward pass computes an expensive op that the forward pass does not compute, and ops on its
  /// result.
  Id dear_derivative(Id x) {
    const auto y = like("aten.log", {x}, x);
    on_backward(y, [=, this](Id g) {
      const auto slope = like("aten._softmax", {x, -1, false}, x);
      add_grad(x, like("aten.mul.Tensor", {g, slope}, x));
      add_grad(x, like("aten.mul.Tensor", {g, like("aten.exp", {slope}, x)}, x));
    });
    return y;
  }
  /// Adds a random node to the backward pass: noise on the gradient.
  Id noisy_gradient(Id x) {
    const auto y = like("aten.clone", {x}, x);
    on_backward(y, [=, this](Id g) {
      const auto noise = emit("aten.rand_like", {g}, {fresh(g)}, {.random = true, .writes = {}})[0];
      add_grad(x, like("aten.mul.Tensor", {g, noise}, x));
    });
    return y;
  }
  void assert_all(Id x) { emit("aten._assert_async", {x}, {}, {.ordered = true, .writes = {}}); }
  void mutate(size_t input, Id contents) { mutations_.emplace_back(input, contents); }

  /// Adds the outputs: gradients of all inputs but constants and buffers, undefined where no result depends
  /// on them.
  ir::Graph finish(const std::vector<Id>& results) {
    const size_t inputs = graph_.inputs.size();
    for (const auto id : results) graph_.outputs.push_back({id, ir::OutputRole::UserOutput, {}, -1});
    for (const auto& [input, contents] : mutations_)
      graph_.outputs.push_back({contents, ir::OutputRole::MutatedInput, {}, static_cast<int32_t>(input)});
    backward_ = true;
    for (const auto id : results) add_grad(id, graph_.add_input(fresh(id), ir::InputRole::Tangent));
    for (size_t i = tape_.size(); i-- > 0;)
      if (const auto g = grad(tape_[i].first); g.valid()) tape_[i].second(g);
    for (size_t i = 0; i < inputs; ++i) {
      const auto& in = graph_.inputs[i];
      if (in.role == ir::InputRole::Param || in.role == ir::InputRole::UserInput)
        graph_.outputs.push_back({grad(in.value), ir::OutputRole::Grad, {}, static_cast<int32_t>(i)});
    }
    graph_.compact();
    return std::move(graph_);
  }

 private:
  ir::TensorType fresh(Id id) const { return ir::contiguous_tensor(ir::DType::F32, {rows(id), columns(id)}); }
  ir::Arg shape_of_row(Id id) const { return ir::Arg::List{columns(id)}; }
  void on_backward(Id result, std::function<void(Id)> step) { tape_.emplace_back(result, std::move(step)); }

  std::vector<Id> emit(std::string op, Args args, std::vector<ir::Type> types, ir::Effects effects = {},
                       Id base = {}, std::vector<int32_t> returns = {}) {
    ir::Node node;
    node.op = std::move(op);
    node.args = std::move(args);
    node.effects = std::move(effects);
    node.returns = std::move(returns);
    node.provenance = {scope_, -1, backward_};
    for (auto& type : types)
      node.outputs.push_back(
          graph_.add_value(std::move(type), base.valid() ? graph_.storage_of(base) : Id{}));
    return graph_.add_node(std::move(node)).outputs;
  }
  Id like(std::string op, Args args, Id shape) {
    return emit(std::move(op), std::move(args), {fresh(shape)})[0];
  }
  Id product(Id a, Id b) {
    return emit("aten.mm", {a, b}, {ir::contiguous_tensor(ir::DType::F32, {rows(a), columns(b)})})[0];
  }
  Id transposed(Id x) {
    auto type = graph_.tensor_type(x);
    std::swap(type.sizes[0], type.sizes[1]);
    std::swap(type.strides[0], type.strides[1]);
    return emit("aten.t", {x}, {type}, {}, x)[0];
  }
  Id sum(Id x) {
    return emit("aten.sum.dim_IntList", {x, ir::Arg::List{1}, true},
                {ir::contiguous_tensor(ir::DType::F32, {rows(x), 1})})[0];
  }
  Id expand(Id x, Id shape) {
    auto type = graph_.tensor_type(x);
    type.sizes[1] = columns(shape);
    type.strides = {1, 0};
    return emit("aten.expand", {x, ir::Arg::List{rows(shape), columns(shape)}}, {type}, {}, x)[0];
  }
  Id grad(Id id) const {
    return static_cast<size_t>(id.index) < grads_.size() ? grads_[static_cast<size_t>(id.index)] : Id{};
  }
  void add_grad(Id id, Id g) {
    if (grads_.size() <= static_cast<size_t>(id.index)) grads_.resize(static_cast<size_t>(id.index) + 1);
    const auto before = grad(id);
    const auto total = before.valid() ? like("aten.add.Tensor", {before, g}, id) : g;
    grads_[static_cast<size_t>(id.index)] = total;
  }

  ir::Graph graph_;
  std::string scope_;
  bool backward_ = false;
  std::vector<std::pair<Id, std::function<void(Id)>>> tape_;
  std::vector<Id> grads_;
  std::vector<std::pair<size_t, Id>> mutations_;
};

}  // namespace antegrad
