#pragma once
#include <torch/csrc/dynamo/compiled_autograd.h>

#include <memory>
#include <string_view>

namespace antegrad::engine {

/// Collects through LibTorch what nodes have saved: tensors and sizes, and everything else as bytes.
/// Collectors are large, so they are reused.
class Collector {
 public:
  struct GiveBack {
    void operator()(Collector* collector) const;
  };
  using Ptr = std::unique_ptr<Collector, GiveBack>;
  static Ptr take();  ///< returns an empty one

  /// Adds what the node has saved. `node` is null during the call.
  void collect(std::shared_ptr<torch::autograd::Node>& node);
  /// Adds the metadata against which gradients along the edge are validated. Throws for nested tensors.
  void collect(const torch::autograd::Edge& edge);
  template <class Number>
  void collect_number(Number number) {
    arguments_.collect(number);
  }

  std::string_view bytes() const;
  torch::dynamo::autograd::AutogradCompilerCall& compiler() { return compiler_; }
  /// The node about which LibTorch is asked.
  torch::dynamo::autograd::NodeCall& call() { return call_; }

 private:
  Collector();
  void clear();

  torch::dynamo::autograd::AutogradCompilerCall compiler_;
  torch::dynamo::autograd::NodeCall call_;
  torch::dynamo::autograd::CompiledNodeArgs arguments_;
};

}  // namespace antegrad::engine
