#include "compiler/template.h"

#include <fmt/format.h>

#include <chrono>

#include "antegrad/error.h"
#include "capture/op_schema.h"
#include "compiler/primals.h"
#include "compiler/progress.h"
#include "compiler/tracing.h"
#include "ir/substitute.h"
#include "ir/text.h"
#include "util/process_end.h"

namespace antegrad::compiler {
namespace {

bool takes_rng_state(const ir::Graph& graph) {
  return std::any_of(graph.inputs.begin(), graph.inputs.end(),
                     [](const ir::Input& input) { return input.role == ir::InputRole::RngState; });
}

/// The state of fused random ops is an input that each call fills by itself.
void take_rng_input(aot::Signature& signature) {
  signature.steps.insert(signature.steps.begin(), aot::TakeRngState{signature.slots});
  signature.graph_inputs.push_back(signature.slots++);
}

/// The first place where two graphs differ.
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

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

Template::Template(const CaptureSettings& settings, ir::Graph graph, const capture::Trace& trace,
                   FunctionCache cache)
    : lowering_(settings.lowering),
      backward_ahead_(settings.options.backward_ahead),
      captured_(std::move(graph)),
      facts_(facts_of(trace)),
      cache_(std::move(cache)),
      traced_(trace::current()) {
  trace_graph("captured", captured_);
  const trace::In in({traced_.function, traced_.version, "forward"});
  if (auto stored = cache_.load()) {
    plan_ = std::move(stored->plan);
    forward_code_ = std::move(stored->forward);
    trace_plan(plan_);
    trace_pass_without_code(plan_.forward_graph(), plan_.has_kernels, *lowering_);
    return;
  }
  const auto start = std::chrono::steady_clock::now();
  tell_progress(settings.options, "plan", 0, 1);
  plan_ = make_plan(settings, captured_, facts_);
  tell_progress(settings.options, "plan", 1, 1);
  trace_plan(plan_);
  forward_code_ = lower(plan_.forward_graph());
  cache_.store(captured_, plan_, *forward_code_, seconds_since(start));
}

std::shared_ptr<const Lowered> Template::lower(const ir::Graph& graph) const {
  if (plan_.has_kernels) return lowering_->lower(graph);
  trace_pass_without_code(graph, false, *lowering_);
  return std::make_shared<const Lowered>(graph);
}

std::shared_ptr<const Lowered> Template::backward(const runtime::BackwardCase& which) const {
  const std::vector<bool> key(which.begin(), which.end());
  const process_end::Section section(process_end::Work::Making);
  const std::scoped_lock lock(mutex_);
  auto& code = backward_code_[key];
  if (code != nullptr) return code;
  const trace::Span span("make a backward pass");
  const auto graph = [&] { return runtime::specialize(plan_.partition->backward, facts_.reached_by, which); };
  code = cache_.load_backward(key);
  if (code != nullptr) {
    if (trace::on()) trace_pass_without_code(graph(), plan_.has_kernels, *lowering_);
    return code;
  }
  const auto start = std::chrono::steady_clock::now();
  code = lower(graph());
  cache_.store_backward(key, *code, seconds_since(start));
  return code;
}

std::string Template::difference(const std::vector<int64_t>& symbols, const Captured& captured) const {
  ir::Graph expected;
  try {
    expected = ir::substitute(captured_, symbols);
  } catch (const Error& error) {  // a division by a size that is 0 here
    return error.what();
  }
  const auto found = without_input_offsets(captured);
  if (!(expected == found)) return first_difference(expected, found);
  return facts_.reached_by == facts_of(captured.trace).reached_by ? "" : "gradients take other ways";
}

runtime::BackwardFacts Template::backward_facts(const aot::Signature& signature,
                                                const capture::Trace& trace) const {
  runtime::BackwardFacts facts;
  for (size_t k = 0; k < trace.lifted.size(); ++k)
    if (trace.lifted[k].late) facts.late.push_back(static_cast<int32_t>(trace.user_inputs + k));
  facts.primals = primals_of(plan_.graph, captured_, signature, trace);
  std::erase_if(facts.primals,
                [&](int32_t slot) { return std::count(facts.late.begin(), facts.late.end(), slot) > 0; });
  facts.reached_by = facts_.reached_by;
  for (const auto& gradient : trace.gradients) facts.fails_for.push_back(gradient.fails_for);
  for (const auto& tangent : trace.tangents) facts.errors.push_back(tangent.error);
  if (const auto* state = std::get_if<aot::TakeRngState>(&signature.steps.front()))
    facts.rng_slot = state->slot;
  const auto& forward = plan_.partition->forward;
  facts.draws_eagerly = std::any_of(forward.nodes.begin(), forward.nodes.end(),
                                    [](const ir::Node& node) { return node.effects.random; });
  for (const auto& node : forward.nodes)
    if (const auto* schema = capture::find_schema(node.op);
        node.effects.ordered && schema != nullptr && schema->foreign)
      facts.runs_once = node.op;
  return facts;
}

std::unique_ptr<runtime::Caller> Template::instantiate(
    std::vector<int64_t> symbols, const Captured& captured,
    std::shared_ptr<runtime::HigherOrder> higher_order) const {
  auto signature = captured.functional.signature;
  if (takes_rng_state(plan_.graph)) take_rng_input(signature);
  const trace::In in({traced_.function, traced_.version, "forward"});
  const trace::Span span("make it ready to run");
  const bool traces_memory = trace::on() && !memory_traced_.exchange(true);
  if (traces_memory) {
    trace_eager_memory(plan_, symbols);
    trace_memory(plan_, *forward_code_, symbols, false);
  }
  if (trace::on()) trace::Event("sizes").with("symbols", symbols).send();
  auto forward = forward_code_->at(symbols);
  if (!plan_.partition) return std::make_unique<runtime::Caller>(std::move(signature), std::move(forward));
  auto facts = backward_facts(signature, captured.trace);
  facts.higher_order = std::move(higher_order);
  const auto self = shared_from_this();
  runtime::BackwardMaker make{
      [self, symbols, traces_memory](const runtime::BackwardCase& which) {
        const trace::In in({self->traced_.function, self->traced_.version, "backward"});
        const auto code = self->backward(which);
        if (traces_memory) trace_memory(self->plan_, *code, symbols, true);
        return code->at(symbols);
      },
      symbols,
      [self](const std::vector<int64_t>& sizes) {
        return ir::substitute(self->plan_.partition->backward, sizes);
      },
      [self]() -> const ir::Graph& { return self->plan_.partition->backward; }};
  auto backward =
      std::make_shared<runtime::Backward>(*plan_.partition, signature, std::move(facts), std::move(make));
  if (backward_ahead_) backward->compile();
  return std::make_unique<runtime::Caller>(std::move(signature), std::move(forward), std::move(backward));
}

}  // namespace antegrad::compiler
