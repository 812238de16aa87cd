#pragma once
#include <memory>
#include <vector>

#include "aot/signature.h"
#include "compiler/code/captured.h"
#include "symbolic/shapes.h"

namespace antegrad::compiler {

/// Decides whether a version serves a call of new sizes by the forward pass alone, which takes a fraction of
/// the time of a capture. The version has been proven by whole captures at several sizes before; what is in
/// the backward pass follows from the ops of the forward pass and from autograd's graph, and both are
/// compared with what they must be at the new sizes, number by number. A function with custom functions or
/// hooks, or whose calling convention depends on sizes, is always captured whole.
class ForwardCheck {
 public:
  /// `shapes`: those that the version serves.
  explicit ForwardCheck(const symbolic::Shapes& shapes) : shapes_(shapes) {}

  /// Adds a whole capture that the version serves. `sizes`: the values of the symbols.
  void add(const std::vector<int64_t>& sizes, const Captured& captured, const aot::Signature& signature);
  /// Whether the forward pass alone can decide about these sizes. Formulas of derivatives may treat sizes of 0
  /// and 1, and equal sizes, in another way.
  bool decides(std::vector<int64_t> sizes) const;
  /// Whether the version serves these sizes. `trace`: a capture of the forward pass.
  bool holds(const std::vector<int64_t>& sizes, capture::Trace trace) const;

 private:
  /// What a capture must have in common with the others besides its graph.
  struct Ends {
    std::vector<capture::TracedInput> inputs;
    std::vector<capture::OutputEnd> outputs;
    std::vector<int32_t> duplicates;
    capture::HistoryShape histories;
    bool operator==(const Ends&) const = default;
  };
  static Ends ends_of(const capture::Trace& trace);
  void merge();

  symbolic::Shapes shapes_;
  bool usable_ = true;
  Ends ends_;
  aot::Signature signature_;
  std::vector<std::vector<int64_t>> sizes_;
  std::vector<ir::Graph> graphs_;             ///< the forward passes at these sizes, until they are merged
  std::shared_ptr<const ir::Graph> forward_;  ///< over symbols; null until there are enough samples
};

}  // namespace antegrad::compiler
