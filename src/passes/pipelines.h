#pragma once
#include <string_view>
#include <vector>

#include "passes/pipeline.h"

namespace antegrad::passes {

/// Which gradients of a backward graph are wanted, and which tangents are defined.
struct BackwardNeeds {
  std::vector<bool> wanted;   ///< per output
  std::vector<bool> defined;  ///< per tangent
  std::vector<bool> reached;  ///< per output: whether a defined tangent leads to it in autograd's graph
};
/// Every gradient is wanted and every tangent is defined.
BackwardNeeds all_of(const ir::Graph& backward);

/// A list of passes that a stage of the compiler runs.
struct Pipeline {
  std::string_view name;
  std::string_view summary;              ///< one line, for display
  std::vector<std::string_view> passes;  ///< in order
};

/// All pipelines, in the order in which a function goes through them. The names are string literals.
const std::vector<Pipeline>& all_pipelines();
/// Throws Error(UnknownPass) with the existing names.
const Pipeline& find_pipeline(std::string_view name);
/// Returns the passes of a pipeline. `needs` is what `backward_case` specialises to; other pipelines ignore
/// it.
std::vector<Pass> passes_of(std::string_view pipeline, const BackwardNeeds& needs = {});

/// Decides which passes of the pipeline `functional` run on a captured graph.
struct FunctionalNeeds {
  bool fused_rng = true;   ///< random ops become functions of a seed, see Options::rng
  bool effects = true;     ///< errors that depend on data are kept; false for gradients as functions
  bool lazy_bits = false;  ///< a copy may resolve a conjugation or negation bit that its type does not show
};
std::vector<Pass> functional_passes(const FunctionalNeeds& needs);

}  // namespace antegrad::passes
