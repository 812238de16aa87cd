#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace antegrad::passes {

struct Pass {
  std::string_view name;
  std::function<bool(ir::Graph&)> run;  ///< true when it changed the graph
  std::string_view summary = {};        ///< one line for people
  bool releases_effects = false;        ///< nodes may lose effects that nobody is to see
};

/// The passes that need nothing but the graph; which of them run, and when, is in pipelines.h. Names and
/// summaries are literals: they outlive every record.
const std::vector<Pass>& all_passes();
const Pass& find_pass(std::string_view name);  ///< throws Error(UnknownPass) listing the names there are

struct PassRecord {
  std::string_view pass;
  double seconds = 0;
  bool changed = false;
  std::string text_after;  ///< only with PipelineOptions::keep_texts, only when changed
};

struct PipelineOptions {
  std::vector<std::string> disabled;  ///< names of passes to leave out; unknown names throw
  bool verify = false;                ///< verify before the first pass and after each that changed something
  bool keep_texts = false;
};

/// Runs passes, of a pipeline (pipelines.h) for example, in order. Whatever a pass throws comes out as Error
/// naming the guilty pass, and so does what breaks the graph; the graph is then as the pass left it.
std::vector<PassRecord> run_pipeline(ir::Graph& graph, const std::vector<Pass>& passes,
                                     const PipelineOptions& options);

}  // namespace antegrad::passes
