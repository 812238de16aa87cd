#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace antegrad::passes {

struct Pass {
  std::string_view name;
  std::function<bool(ir::Graph&)> run;  ///< returns whether it changed the graph
  std::string_view summary = {};        ///< one line, for display
  bool releases_effects = false;        ///< nodes may lose effects that must not be observed
};

/// The passes that need nothing but the graph; pipelines.h decides which of them run, and when. Names and
/// summaries are string literals, which outlive every record.
const std::vector<Pass>& all_passes();
const Pass& find_pass(std::string_view name);  ///< throws Error(UnknownPass) with the existing names

struct PassRecord {
  std::string_view pass;
  double seconds = 0;
  bool changed = false;
  std::string text_after;  ///< only with PipelineOptions::keep_texts, and only if changed
};

struct PipelineOptions {
  std::vector<std::string> disabled;  ///< names of passes to skip; unknown names throw
  bool verify = false;  ///< verifies before the first pass and after each that changed the graph
  bool keep_texts = false;
};

/// Runs passes in order, for example those of a pipeline (pipelines.h). Whatever a pass throws, and a graph
/// that it leaves invalid, results in an Error that names the pass; the graph is then as the pass left it.
std::vector<PassRecord> run_pipeline(ir::Graph& graph, const std::vector<Pass>& passes,
                                     const PipelineOptions& options);

}  // namespace antegrad::passes
