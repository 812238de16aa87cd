#pragma once
#include <string>
#include <vector>

#include "antegrad/options.h"
#include "antegrad/tree.h"
#include "compiler/function/call.h"
#include "compiler/plan/lowering.h"
#include "compiler/plan/plan.h"
#include "trace/trace.h"

/// Events that the compiler sends to a trace (docs/report.md). These functions do nothing when tracing is
/// off.
namespace antegrad::compiler {

class Version;

void trace_function(const Options& options);
/// `reason` says why the call was captured, `eager_reason` why it is not compiled ("" when it is).
void trace_version(const Version& version, const Options& options, const Call& call,
                   const std::string& reason, const std::string& eager_reason);
void trace_graph(const char* which, const ir::Graph& graph);
/// Sends the graphs of the plan and the decisions about saved values.
void trace_plan(const Plan& plan);
/// Sends the kernels and extern calls of a pass.
void trace_program(const schedule::Program& program, const Lowering& lowering);
/// Likewise for a pass that is not compiled now, because its code comes from the cache or LibTorch runs all
/// of it.
void trace_pass_without_code(const ir::Graph& graph, bool has_kernels, const Lowering& lowering);

/// Sends the memory that eager execution would have in use at each op at these sizes.
void trace_eager_memory(const Plan& plan, const std::vector<int64_t>& symbols);
/// Sends the memory that a pass has in use at each step. `backward` selects the pass.
void trace_memory(const Plan& plan, const Lowered& code, const std::vector<int64_t>& symbols, bool backward);

/// Returns a graph's text with the contents of large constants truncated.
std::string without_long_constants(const std::string& text);

}  // namespace antegrad::compiler
