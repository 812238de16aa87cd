#pragma once
#include <string_view>
#include <vector>

#include "passes/pipeline.h"

namespace antegrad::passes {

/// Which gradients of a backward graph are asked for, and which tangents it is given.
struct BackwardNeeds {
  std::vector<bool> wanted;   ///< per output
  std::vector<bool> defined;  ///< per tangent
  std::vector<bool> reached;  ///< per output: autograd's graph leads there from a defined tangent
};
/// Everything is asked for and given.
BackwardNeeds all_of(const ir::Graph& backward);

/// A list of passes that some stage of the compiler runs.
struct Pipeline {
  std::string_view name;
  std::string_view summary;              ///< one line for people
  std::vector<std::string_view> passes;  ///< in order
};

/// All that there are, in the order in which a function goes through them. The names are literals.
const std::vector<Pipeline>& all_pipelines();
/// Throws Error(UnknownPass) listing the names there are.
const Pipeline& find_pipeline(std::string_view name);
/// The passes of a pipeline by its name. `needs`: what `backward_case` specialises to; all other pipelines do
/// without.
std::vector<Pass> passes_of(std::string_view pipeline, const BackwardNeeds& needs = {});

/// What decides which passes of the pipeline `functional` run on a captured graph.
struct FunctionalNeeds {
  bool fused_rng = true;   ///< random ops become functions of a seed, as Options::rng says
  bool effects = true;     ///< errors that depend on data are kept; not so in gradients as functions
  bool lazy_bits = false;  ///< a copy may resolve a conjugation or negation that its type does not show
};
std::vector<Pass> functional_passes(const FunctionalNeeds& needs);

}  // namespace antegrad::passes
