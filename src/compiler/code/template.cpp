#include "compiler/code/template.h"

#include <fmt/format.h>

#include "antegrad/error.h"
#include "aten/op_schema.h"
#include "compiler/code/driver.h"
#include "compiler/code/make_executable.h"
#include "compiler/code/primals.h"
#include "compiler/code/tracing.h"
#include "ir/substitute.h"
#include "ir/text.h"
#include "util/process_end.h"

namespace antegrad::compiler {
namespace {

bool takes_rng_state(const ir::Graph& graph) {
  return std::any_of(graph.inputs.begin(), graph.inputs.end(),
                     [](const ir::Input& input) { return input.role == ir::InputRole::RngState; });
}

/// Adds the generator state of fused random ops as an input that each call fills itself.
void take_rng_input(aot::Signature& signature) {
  signature.steps.insert(signature.steps.begin(), aot::TakeRngState{signature.slots});
  signature.graph_inputs.push_back(signature.slots++);
}

/// Returns what a call writes to its inputs.
runtime::InputWrites writes_of(const aot::Signature& signature, const Plan& plan) {
  auto writes = runtime::input_writes(signature);
  if (!plan.partition) return writes;
  for (auto& write : writes.list)
    for (const auto& saved : plan.partition->saved)
      if (saved.output == write.output) write.refused = "the backward pass reads its new contents";
  return writes;
}

/// Describes the first place where two graphs differ.
std::string first_difference(const ir::Graph& expected, const ir::Graph& found) {
  for (size_t n = 0; n < std::min(expected.nodes.size(), found.nodes.size()); ++n) {
    const auto line = [n](const ir::Graph& graph) {
      auto text = ir::print(graph, graph.nodes[n]);
      for (auto v : graph.nodes[n].outputs) text += " : " + ir::print(graph.type_of(v));
      return text;
    };
    if (line(expected) != line(found))
      return fmt::format("node {} is {}, expected {}", n, line(found), line(expected));
  }
  return "its inputs or outputs differ";
}

}  // namespace

std::shared_ptr<const Lowered> Template::backward(const runtime::BackwardCase& which) const {
  const std::vector<bool> key(which.begin(), which.end());
  const process_end::Section section(process_end::Work::Making);
  const std::scoped_lock lock(mutex_);
  auto& code = backward_code_[key];
  if (code == nullptr) code = compile_backward(parts_, which);
  return code;
}

std::map<std::vector<bool>, std::shared_ptr<const Lowered>> Template::backward_code() const {
  const std::scoped_lock lock(mutex_);
  auto code = backward_code_;
  std::erase_if(code, [](const auto& entry) { return entry.second == nullptr; });  // those that have failed
  return code;
}

Result<std::vector<int64_t>> Template::symbols_in(std::vector<int64_t> sizes,
                                                  const Captured& captured) const {
  const auto found = without_input_offsets(captured);
  auto symbols = std::move(sizes);
  const auto numbers = parts_.numbers.values_in(found, parts_.captured);
  if (!numbers) return Failure{numbers.reason()};
  symbols.insert(symbols.end(), numbers->begin(), numbers->end());
  ir::Graph expected;
  try {
    expected = ir::substitute(parts_.captured, symbols);
  } catch (const Error& error) {  // e.g. division by a size that is 0 here
    return Failure{error.what()};
  }
  if (!(expected == found)) return Failure{first_difference(expected, found)};
  if (parts_.facts.reached_by != facts_of(captured.trace).reached_by)
    return Failure{"other tangents lead to the gradients"};
  return symbols;
}

runtime::BackwardFacts Template::backward_facts(const aot::Signature& signature,
                                                const capture::Trace& trace) const {
  runtime::BackwardFacts facts;
  for (size_t k = 0; k < trace.lifted.size(); ++k)
    if (trace.lifted[k].late) facts.late.push_back(static_cast<int32_t>(trace.user_inputs + k));
  facts.primals = primals_of(parts_.plan.graph, parts_.captured, signature, trace);
  std::erase_if(facts.primals,
                [&](int32_t slot) { return std::count(facts.late.begin(), facts.late.end(), slot) > 0; });
  facts.reached_by = parts_.facts.reached_by;
  facts.communicates = parts_.lowering->gradients().has_value();
  facts.saving_nodes = saving_nodes(parts_.captured);
  for (const auto& gradient : trace.gradients) facts.fails_for.push_back(gradient.fails_for);
  for (const auto& tangent : trace.tangents) facts.errors.push_back(tangent.error);
  if (const auto* state = std::get_if<aot::TakeRngState>(&signature.steps.front()))
    facts.rng_slot = state->slot;
  const auto& forward = parts_.plan.partition->forward;
  facts.draws_eagerly = std::any_of(forward.nodes.begin(), forward.nodes.end(),
                                    [](const ir::Node& node) { return node.effects.random; });
  for (const auto& node : forward.nodes)
    if (const auto* schema = aten::find_schema(node.op); node.effects.ordered && !node.outputs.empty() &&
                                                         schema != nullptr && schema->foreign &&
                                                         !schema->collective)
      facts.runs_once = node.op;
  return facts;
}

std::unique_ptr<runtime::Caller> Template::instantiate(
    std::vector<int64_t> symbols, const Captured& captured,
    std::shared_ptr<runtime::HigherOrder> higher_order) const {
  auto signature = captured.functional.signature;
  if (takes_rng_state(parts_.plan.graph)) take_rng_input(signature);
  runtime::BackwardFacts facts;
  if (parts_.plan.partition) facts = backward_facts(signature, captured.trace);
  facts.higher_order = std::move(higher_order);
  return instantiate(std::move(symbols), std::move(signature), std::move(facts));
}

std::unique_ptr<runtime::Caller> Template::instantiate(std::vector<int64_t> symbols, aot::Signature signature,
                                                       runtime::BackwardFacts facts) const {
  const trace::In in({parts_.traced.function, parts_.traced.version, "forward"});
  const trace::Span span("make it ready to run");
  const bool traces_memory = trace::on() && !memory_traced_.exchange(true);
  if (traces_memory) {
    trace_eager_memory(parts_.plan, symbols);
    trace_memory(parts_.plan, *parts_.forward, symbols, false);
  }
  if (trace::on()) trace::Event("sizes").with("symbols", symbols).send();
  auto forward = make_executable(*parts_.forward, symbols, writes_of(signature, parts_.plan));
  if (!parts_.plan.partition)
    return std::make_unique<runtime::Caller>(std::move(signature), std::move(forward), nullptr,
                                             parts_.constants);
  const auto self = shared_from_this();
  runtime::BackwardMaker make{
      [self, symbols, traces_memory](const runtime::BackwardCase& which) {
        const trace::In in({self->parts_.traced.function, self->parts_.traced.version, "backward"});
        const auto code = self->backward(which);
        if (traces_memory) trace_memory(self->parts_.plan, *code, symbols, true);
        return make_executable(*code, symbols);
      },
      symbols,
      [self](const std::vector<int64_t>& sizes) {
        return ir::substitute(self->parts_.plan.partition->backward, sizes);
      },
      [self]() -> const ir::Graph& { return self->parts_.plan.partition->backward; }};
  auto backward = std::make_shared<runtime::Backward>(*parts_.plan.partition, signature, std::move(facts),
                                                      std::move(make));
  if (backward_ahead_) backward->compile();
  return std::make_unique<runtime::Caller>(std::move(signature), std::move(forward), std::move(backward),
                                           parts_.constants);
}

}  // namespace antegrad::compiler
