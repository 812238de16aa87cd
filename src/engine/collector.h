#pragma once
#include <torch/csrc/dynamo/compiled_autograd.h>

#include <memory>
#include <string_view>

namespace antegrad::engine {

/// What LibTorch collects of nodes: the tensors and sizes that they have saved, and bytes that say everything
/// else. Large, so those that are done with are used again.
class Collector {
 public:
  struct GiveBack {
    void operator()(Collector* collector) const;
  };
  using Ptr = std::unique_ptr<Collector, GiveBack>;
  static Ptr take();  ///< an empty one

  /// Adds what the node has saved. `node` is null while that goes on.
  void collect(std::shared_ptr<torch::autograd::Node>& node);
  /// Adds what gradients that go along the edge are checked against. Throws for nested ones.
  void collect(const torch::autograd::Edge& edge);
  template <class Number>
  void collect_number(Number number) {
    arguments_.collect(number);
  }

  std::string_view bytes() const;
  torch::dynamo::autograd::AutogradCompilerCall& compiler() { return compiler_; }
  /// The node that LibTorch is asked about.
  torch::dynamo::autograd::NodeCall& call() { return call_; }

 private:
  Collector();
  void clear();

  torch::dynamo::autograd::AutogradCompilerCall compiler_;
  torch::dynamo::autograd::NodeCall call_;
  torch::dynamo::autograd::CompiledNodeArgs arguments_;
};

}  // namespace antegrad::engine
