#include "compiler/code/tracing.h"
#include "ir/substitute.h"
#include "runtime/plan/placement.h"
#include "schedule/substitute.h"

namespace antegrad::compiler {
namespace {

using schedule::RunKernel;
using schedule::RunNode;

schedule::Program program_at(const Lowered& code, const std::vector<int64_t>& symbols) {
  if (!code.is_eager())
    return symbols.empty() ? code.program() : schedule::substitute(code.program(), symbols);
  schedule::Program program;
  program.graph = ir::substitute(code.program().graph, symbols);
  for (const auto node : program.graph.node_ids()) program.steps.emplace_back(RunNode{node});
  return program;
}

std::vector<std::string> labels_of(const schedule::Program& program) {
  std::vector<std::string> out;
  for (const auto& step : program.steps) {
    if (const auto* run = std::get_if<RunKernel>(&step))
      out.push_back(program.kernel_of(*run).name);
    else
      out.push_back(program.node_of(std::get<RunNode>(step)).op);
  }
  return out;
}

std::vector<std::string> labels_of(const ir::Graph& graph) {
  std::vector<std::string> out;
  for (const auto& node : graph.nodes) out.push_back(node.op);
  return out;
}

/// Bytes in use at each step of a program. The arena exists while it holds a value; other memory is allocated
/// by the step that makes a value and freed after the last step that reads it.
class StepMemory {
 public:
  StepMemory(const schedule::Program& program, const std::vector<int64_t>& symbols)
      : program_(program),
        graph_(program.graph),
        placement_(runtime::place(program, {.symbols = symbols, .checks = nullptr, .in_place = {}})),
        changes_(program.steps.size() + 1),
        ends_(graph_.values.size(), -1),
        seen_(graph_.values.size()) {
    for (const auto v : graph_.values.ids()) {
      auto& end = ends_[graph_.storage_of(v)];
      end = std::max(end, placement_.values[v].last_use);
    }
  }

  /// Adds memory that exists before the first step.
  void add_input(ir::ValueId v, int64_t bytes) { add(v, 0, bytes); }

  std::vector<int64_t> run() {
    for (const auto& input : graph_.inputs) seen_[graph_.storage_of(input.value)] = true;
    for (size_t s = 0; s < program_.steps.size(); ++s) {
      if (const auto* call = std::get_if<RunKernel>(&program_.steps[s]))
        for (auto v : call->buffers) make(v, s);
      else
        for (auto v : program_.node_of(std::get<RunNode>(program_.steps[s])).outputs) make(v, s);
    }
    std::vector<int64_t> curve;
    int64_t live = 0, arena = 0;
    for (size_t s = 0; s < program_.steps.size(); ++s) {
      if (placement_.steps[s].arena_begin > 0) arena = placement_.steps[s].arena_begin;
      live += changes_[s];
      curve.push_back(live + arena);
      if (placement_.steps[s].arena_end) arena = 0;
    }
    return curve;
  }

  int64_t arena_bytes() const { return placement_.arena_bytes; }

 private:
  void make(ir::ValueId v, size_t step) {
    const auto* type = graph_.type_of(v).tensor();
    if (graph_.storage_of(v) != v || seen_[v] || type == nullptr) return;
    seen_[v] = true;
    if (placement_.values[v].arena_offset < 0 && !takes_memory_over(v, step))
      add(v, step, runtime::bytes_of(*type));
  }

  /// Whether the value reuses memory donated by an input of its step, which is already counted; extends its
  /// lifetime then.
  bool takes_memory_over(ir::ValueId v, size_t step) {
    for (const auto& birth : placement_.steps[step].births)
      if (birth.value == v && birth.donor >= 0) {
        const auto bytes = runtime::bytes_of(graph_.tensor_type(v));
        if (bytes_freed_after(step) < bytes) return false;
        end(v, step, bytes);
        changes_[step + 1] += bytes;
        return true;
      }
    return false;
  }
  int64_t bytes_freed_after(size_t step) const { return -changes_[step + 1]; }

  void add(ir::ValueId v, size_t step, int64_t bytes) {
    changes_[step] += bytes;
    end(v, step, bytes);
  }
  void end(ir::ValueId v, size_t step, int64_t bytes) {
    const auto last = std::max(ends_[v], static_cast<int32_t>(step));
    if (last < std::ssize(program_.steps)) changes_[last + 1] -= bytes;
  }

  const schedule::Program& program_;
  const ir::Graph& graph_;
  const runtime::Placement placement_;
  std::vector<int64_t> changes_;  ///< change at the beginning of each step
  ir::PerValue<int32_t> ends_;    ///< per value that owns memory: the last step that needs it
  ir::PerValue<bool> seen_;
};

}  // namespace

void trace_eager_memory(const Plan& plan, const std::vector<int64_t>& symbols) {
  trace::attempt([&] {
    const trace::Span span("trace");
    const auto graph = ir::substitute(plan.graph, symbols);
    if (!plan.partition) {
      const auto curves = partition::memory_curves(graph, {}, {});
      trace::Event("eager_memory")
          .with("forward", curves.forward)
          .with("forward_labels", labels_of(graph))
          .send();
      return;
    }
    const auto eager = partition::partition(graph, SaveAll{});
    const auto curves = partition::memory_curves(eager.forward, eager.backward, eager.saved);
    trace::Event("eager_memory")
        .with("forward", curves.forward)
        .with("forward_labels", labels_of(eager.forward))
        .with("backward", curves.backward)
        .with("backward_labels", labels_of(eager.backward))
        .with("saved_bytes", eager.saved_bytes)
        .send();
  });
}

void trace_memory(const Plan& plan, const Lowered& code, const std::vector<int64_t>& symbols, bool backward) {
  trace::attempt([&] {
    const trace::Span span("trace");
    const auto program = program_at(code, symbols);
    StepMemory memory(program, symbols);
    if (backward) {
      const auto& partition = *plan.partition;
      const auto saved = partition::saved_memory(ir::substitute(partition.forward, symbols), partition.saved);
      for (size_t i = 0; i < program.graph.inputs.size(); ++i) {
        const auto v = program.graph.inputs[i].value;
        const auto* type = program.graph.type_of(v).tensor();
        if (type != nullptr) memory.add_input(v, i < saved.size() ? saved[i] : runtime::bytes_of(*type));
      }
    }
    const auto curve = memory.run();
    trace::Event("memory")
        .with("bytes", curve)
        .with("labels", labels_of(program))
        .with("arena_bytes", memory.arena_bytes())
        .send();
  });
}

}  // namespace antegrad::compiler
