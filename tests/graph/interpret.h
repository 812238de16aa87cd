#pragma once
// For tests of passes: computes the graphs of random_program.h, and the aliasing that their caller can
// observe.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "ir/graph.h"

namespace antegrad::passes {

/// Executes such graphs. The result of a random node depends on how many random nodes ran before it.
class Interpreter {
 public:
  using Contents = std::vector<float>;
  explicit Interpreter(const ir::Graph& graph) : graph_(graph), contents_(graph.values.size()) {}

  std::vector<Contents> run() {
    for (size_t i = 0; i < graph_.inputs.size(); ++i) at(graph_.inputs[i].value) = made_up(10 + i, 6);
    for (const auto& node : graph_.nodes) at(node.outputs.front()) = compute(node);
    std::vector<Contents> results;
    for (const auto& output : graph_.outputs) results.push_back(at(output.value));
    return results;
  }

 private:
  Contents& at(ir::ValueId id) { return contents_[id]; }
  static Contents made_up(size_t seed, size_t count) {
    Contents contents(count);
    for (size_t i = 0; i < count; ++i) contents[i] = static_cast<float>((seed * 31 + i * 7) % 101) - 50.0F;
    return contents;
  }
  static double number(const ir::Arg& arg) { return *arg.as<double>(); }

  Contents compute(const ir::Node& node) {
    const auto& type = graph_.tensor_type(node.outputs.front());
    const auto count = static_cast<size_t>(type.numel().constant());
    if (node.op == "aten.full") return Contents(count, static_cast<float>(number(node.args[1])));
    if (node.op == "aten.rand_like") return made_up(1000 + draws_++, count);
    if (node.op == "antegrad.constant") {
      const auto& bytes = **node.attrs.front().value.as<ir::Bytes>();
      Contents contents(bytes.size() / sizeof(float));
      if (!bytes.empty()) std::memcpy(contents.data(), bytes.data(), bytes.size());
      return contents;
    }
    return compute_from(node, at(*node.args[0].as<ir::ValueId>()));
  }

  Contents compute_from(const ir::Node& node, Contents a) {
    const auto& sizes = graph_.tensor_type(*node.args[0].as<ir::ValueId>()).sizes;
    if (node.op == "aten.neg") {
      for (auto& x : a) x = -x;
    } else if (node.op == "custom.increment_") {
      for (auto& x : a) x += 1;
    } else if (node.op == "custom.accumulate_") {
      const auto b_id = *node.args[1].as<ir::ValueId>();
      const auto& b = b_id == *node.args[0].as<ir::ValueId>() ? a : at(b_id);
      for (size_t i = 0; i < a.size(); ++i) a[i] = (i > 0 ? a[i - 1] : 0) + b[a.size() - 1 - i];
    } else if (node.op == "aten.mul.Scalar") {
      for (auto& x : a) x *= static_cast<float>(number(node.args[1]));
    } else if (node.op == "aten.add.Tensor") {
      const auto& b = at(*node.args[1].as<ir::ValueId>());
      for (size_t i = 0; i < a.size(); ++i) a[i] += b[i];
    } else if (node.op == "aten.slice.Tensor") {
      const auto start = node.args[2].as<ir::Dim>()->constant();
      const auto rows = std::max<int64_t>(1, sizes[0].constant());
      a.erase(a.begin(), a.begin() + start * static_cast<int64_t>(a.size()) / rows);
    } else if (node.op == "aten.t") {
      const auto rows = static_cast<size_t>(sizes[0].constant()),
                 columns = static_cast<size_t>(sizes[1].constant());
      const auto source = a;
      for (size_t i = 0; i < rows; ++i)
        for (size_t j = 0; j < columns; ++j) a[j * rows + i] = source[i * columns + j];
    } else if (node.op != "aten.alias" && node.op != "aten.view" && node.op != "aten.clone" &&
               node.op != "aten._to_copy") {
      throw std::logic_error("no rule for " + node.op);
    }
    return a;
  }

  const ir::Graph& graph_;
  ir::PerValue<Contents> contents_;
  size_t draws_ = 0;
};

inline std::vector<std::vector<float>> interpret(const ir::Graph& graph) { return Interpreter(graph).run(); }

/// Returns the aliasing that the caller can observe, for each pair of outputs and each pair of an output and
/// an input: 0 for separate memory, 1 for shared memory, 2 for the same tensor.
inline std::vector<int> aliasing(const ir::Graph& graph) {
  std::vector<int> relation;
  auto relate = [&](ir::ValueId a, ir::ValueId b) {
    relation.push_back(a == b ? 2 : graph.storage_of(a) == graph.storage_of(b) ? 1 : 0);
  };
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    for (size_t j = 0; j < i; ++j) relate(graph.outputs[i].value, graph.outputs[j].value);
    for (const auto& input : graph.inputs) relate(graph.outputs[i].value, input.value);
  }
  return relation;
}

}  // namespace antegrad::passes
