#pragma once
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <vector>

#include "program/graph.h"

namespace antegrad::program {

/// A value while a graph runs. During a capture tensors have no contents; `known` has those of small tensors
/// that depend on constants only, so that loops with a fixed number of turns can be unrolled.
struct Slot {
  c10::IValue value;
  at::Tensor known;
};

/// The most elements of a tensor whose contents are followed.
constexpr int64_t kMostKnown = 64;

/// Reads a tensor of one element. During a capture this succeeds if its contents are known.
at::Scalar read_number(const Slot& slot);

/// Runs a graph node by node through LibTorch's dispatcher: with autograd, recorded by a capture, or plainly.
/// Errors name the node and its line of Python.
std::vector<Slot> run_graph(const Graph& graph, std::vector<Slot> inputs);

/// The scope of regions that are recomputed by the backward pass (torch.utils.checkpoint).
constexpr const char* kCheckpointScope = "torch.utils.checkpoint";

/// The three kinds of nodes besides ops. Each returns the node's results.
class Values;
c10::IValue run_number_function(const Node& node, const std::vector<c10::IValue>& arguments);
std::vector<Slot> run_higher_order(const Node& node, const Values& values);

/// The values of a graph that runs.
class Values {
 public:
  explicit Values(const Graph& graph) : graph_(graph), slots_(graph.values.size()) {}

  Slot get(const Argument& argument) const;
  std::vector<Slot> get_list(const Argument& argument) const;  ///< of a list, its elements; else the one
  void set(int value, Slot slot) {
    if (value != kNoValue) slots_[value] = std::move(slot);
  }
  void forget(const std::vector<int>& values) {
    for (const int value : values) slots_[value] = {};
  }
  void forget_contents();  ///< of all tensors

 private:
  const Slot& slot(const Element& element) const;

  const Graph& graph_;
  std::vector<Slot> slots_;
};

}  // namespace antegrad::program
