#pragma once
// For tests of the partitioner: random joint graphs with small ops, views, products, reductions, nodes with
// several outputs, random nodes in both passes, assertions, written inputs and scopes.
#include <cstdint>
#include <random>
#include <vector>

#include "graph/joint_tape.h"

namespace antegrad {

class RandomJoint {
 public:
  explicit RandomJoint(uint32_t seed) : random_(seed) {}

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
  int64_t size() { return below(2) == 0 ? 8 : 32; }
  void add(ir::ValueId id) { values_.push_back(id); }
  ir::ValueId pick() {
    const auto count = static_cast<int>(values_.size());
    return values_[static_cast<size_t>(below(3) == 0 ? below(count) : count - 1 - below(std::min(count, 4)))];
  }
  /// One of the values of that number of rows and columns; -1: any number.
  ir::ValueId pick(int64_t rows, int64_t columns) {
    std::vector<ir::ValueId> fitting;
    for (const auto id : values_)
      if ((rows < 0 || tape_.rows(id) == ir::Dim(rows)) &&
          (columns < 0 || tape_.columns(id) == ir::Dim(columns)))
        fitting.push_back(id);
    return fitting.empty() ? ir::ValueId{}
                           : fitting[static_cast<size_t>(below(static_cast<int>(fitting.size())))];
  }
  ir::ValueId pick_like(ir::ValueId id) {
    return pick(tape_.rows(id).constant(), tape_.columns(id).constant());
  }

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
        const auto y = pick(tape_.columns(x).constant(), -1);
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
        return tape_.rows(x) == ir::Dim(1) ? add(tape_.tanh(x)) : add(tape_.split_and_multiply(x));
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
  JointTape tape_;
  std::vector<ir::ValueId> values_;
};

inline ir::Graph random_joint(uint32_t seed, int steps) { return RandomJoint(seed).make(steps); }

}  // namespace antegrad
