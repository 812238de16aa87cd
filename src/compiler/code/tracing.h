#pragma once
#include <string>
#include <vector>

#include "antegrad/options.h"
#include "antegrad/tree.h"
#include "compiler/code/lowering.h"
#include "compiler/code/plan.h"
#include "compiler/function/call.h"
#include "trace/trace.h"

/// What the compiler tells a trace (docs/report.md). All of these do nothing without one.
namespace antegrad::compiler {

class Version;

void trace_function(const Options& options);
/// `reason`: why it was captured; `eager_reason`: why it is not compiled, "": it is.
void trace_version(const Version& version, const Options& options, const Call& call,
                   const std::string& reason, const std::string& eager_reason);
void trace_graph(const char* which, const ir::Graph& graph);
/// The graphs that the plan has, and what was decided of saved values.
void trace_plan(const Plan& plan);
/// Kernels and calls of LibTorch that a pass consists of.
void trace_program(const schedule::Program& program, const Lowering& lowering);
/// The same of a pass that is not compiled now: its code is from the cache, or LibTorch runs all of it.
void trace_pass_without_code(const ir::Graph& graph, bool has_kernels, const Lowering& lowering);

/// What eager would have allocated at each op at these sizes.
void trace_eager_memory(const Plan& plan, const std::vector<int64_t>& symbols);
/// What a pass has allocated at each step; `backward`: the pass.
void trace_memory(const Plan& plan, const Lowered& code, const std::vector<int64_t>& symbols, bool backward);

/// Contents of large constants are left out of a graph's text.
std::string without_long_constants(const std::string& text);

}  // namespace antegrad::compiler
