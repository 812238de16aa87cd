#pragma once
// For tests of the partitioner: random joint graphs with small ops, views, products, reductions, nodes with
// several outputs, random nodes in both passes, assertions, written inputs and scopes.
#include <cstdint>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "graph/joint_tape.h"

namespace antegrad {

class RandomJoint {
 public:
  /// Chooses the sizes of the inputs from `sizes`.
  explicit RandomJoint(uint32_t seed, std::vector<ir::Dim> sizes = {8, 32})
      : random_(seed), sizes_(std::move(sizes)) {}

  ir::Graph make(int steps) {
    const int inputs = 2 + below(3);
    for (int i = 0; i < inputs; ++i) {
      const auto role = below(2) == 0 ? ir::InputRole::Param : ir::InputRole::UserInput;
      add(tape_.input(size(), size(), role));
    }
    for (int i = 0; i < steps; ++i) {
      const int depth = below(4);
      tape_.scope(depth == 0 ? "" : depth == 1 ? "a" : depth == 2 ? "a.b" : "c");
      step();
    }
    for (int i = 0; i < inputs; ++i)
      if (below(4) == 0) mutate(i);
    std::vector<ir::ValueId> results = {values_.back()};
    while (below(3) == 0) results.push_back(pick());
    return tape_.finish(results);
  }

 private:
  int below(int limit) { return static_cast<int>(random_() % static_cast<uint32_t>(limit)); }
  ir::Dim size() { return sizes_[static_cast<size_t>(below(static_cast<int>(sizes_.size())))]; }
  void add(ir::ValueId id) { values_.push_back(id); }
  ir::ValueId pick() {
    const auto count = static_cast<int>(values_.size());
    return values_[static_cast<size_t>(below(3) == 0 ? below(count) : count - 1 - below(std::min(count, 4)))];
  }
  /// Returns a value with that many rows and columns; without `columns`, any number of columns will do.
  ir::ValueId pick(const ir::Dim& rows, const std::optional<ir::Dim>& columns) {
    std::vector<ir::ValueId> fitting;
    for (const auto id : values_)
      if (tape_.rows(id) == rows && (!columns || tape_.columns(id) == *columns)) fitting.push_back(id);
    return fitting.empty() ? ir::ValueId{}
                           : fitting[static_cast<size_t>(below(static_cast<int>(fitting.size())))];
  }
  static bool is_even(const ir::Dim& size) { return floor_div(size, 2) * 2 == size; }
  ir::ValueId pick_like(ir::ValueId id) { return pick(tape_.rows(id), tape_.columns(id)); }

  void step() {
    const auto x = pick();
    switch (below(14)) {
      case 0:
        return add(tape_.unary("aten.sin", "aten.cos", x));
      case 1:
        return add(tape_.unary("aten.exp", "aten.exp", x));
      case 2:
        return add(tape_.tanh(x));
      case 3:
        return add(tape_.add(x, pick_like(x)));
      case 4:
        return add(tape_.mul(x, pick_like(x)));
      case 5:
        return add(tape_.transpose(x));
      case 6: {
        const auto y = pick(tape_.columns(x), std::nullopt);
        return y.valid() ? add(tape_.mm(x, y)) : add(tape_.mm(x, tape_.transpose(x)));
      }
      case 7:
        return add(tape_.softmax(x));
      case 8:
        return add(tape_.sum_and_expand(x));
      case 9:
        return add(tape_.layer_norm(x));
      case 10:
        return add(below(2) == 0 ? tape_.dropout(x) : tape_.noisy_gradient(x));
      case 11:
        return is_even(tape_.rows(x)) ? add(tape_.split_and_multiply(x)) : add(tape_.tanh(x));
      case 12:
        return add(tape_.dear_derivative(x));
      default:
        return below(3) == 0 ? tape_.assert_all(x) : add(tape_.tanh(x));
    }
  }
  void mutate(int input) {
    const auto contents = pick_like(values_[static_cast<size_t>(input)]);
    tape_.mutate(static_cast<size_t>(input), contents);
  }

  std::mt19937 random_;
  std::vector<ir::Dim> sizes_;
  JointTape tape_;
  std::vector<ir::ValueId> values_;
};

inline ir::Graph random_joint(uint32_t seed, int steps) { return RandomJoint(seed).make(steps); }

/// Uses the symbols s0 and s1, with hints 4 and 1.
inline ir::Graph random_symbolic_joint(uint32_t seed, int steps) {
  auto graph = RandomJoint(seed, {8, ir::Dim::symbol(0) * 2, ir::Dim::symbol(1) * 32}).make(steps);
  graph.symbols = {{{1, 1 << 20}, 4}, {{1, 1 << 20}, 1}};
  return graph;
}

}  // namespace antegrad
