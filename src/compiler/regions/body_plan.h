#pragma once
#include <string>
#include <vector>

#include "compiler/code/captured.h"
#include "compiler/regions/region.h"

namespace antegrad::compiler {

/// The body of a region as graphs that other graphs can call (ir/calls.h), differentiated and partitioned
/// once for all calls.
struct BodyPlan {
  std::string problem;            ///< why there are no such graphs; the rest is empty then
  ir::GraphPtr forward;           ///< returns the results of the region, then what is saved
  std::vector<int64_t> operands;  ///< per input of `forward`: which of the region's it is
  std::vector<partition::Saved> saved;
  std::vector<bool> extra;                    ///< per saved value: eager's backward pass does not read it
  ir::Graph backward;                         ///< as in partition::Partition
  std::vector<std::vector<bool>> reached_by;  ///< as in CaptureFacts
  std::vector<int32_t> tangent_of;            ///< per result: the number of its tangent, or -1
  std::vector<int32_t> gradient_of;           ///< per operand: the number of its gradient, or -1
};

/// What the calls of a body have in common.
struct BodyUse {
  const Region& region;
  std::vector<int64_t> targets;  ///< operands that get gradients
  std::vector<ir::TensorType> operands;
  std::vector<ir::TensorType> results;  ///< types of the region's results
};
/// `settings`: those of the function that has the region.
BodyPlan plan_body(const CaptureSettings& settings, const BodyUse& use);

/// A step back through a body, as a graph.
struct BackwardPlan {
  ir::GraphPtr graph;  ///< null when it has no outputs
  /// What it is called with. Exactly one member is set.
  struct Argument {
    int32_t saved = -1;   ///< a value that the body has saved
    int32_t result = -1;  ///< the tangent of this result
  };
  std::vector<Argument> arguments;
  struct Gradient {
    int32_t output = -1;  ///< of the graph …
    Argument same;        ///< … or what it equals
  };
  std::vector<Gradient> gradients;  ///< per operand of the derivative
};
/// `types`: of the gradients.
BackwardPlan plan_backward(const BodyPlan& body, const RegionDerivative& derivative,
                           const std::vector<ir::TensorType>& types);

}  // namespace antegrad::compiler
