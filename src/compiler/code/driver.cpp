// A cold call from top to bottom. Comments at the right name the folder of each stage.
//   Driver::record   on the calling thread: capture → functionalize → generalize over sizes
//   Driver::compile  on any thread: look up → optimise → partition → schedule → kernels → store → a version
#include "compiler/code/driver.h"

#include <ATen/Context.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "antegrad/error.h"
#include "aten/below_recording.h"
#include "compiler/code/key_facts.h"
#include "compiler/code/tracing.h"
#include "compiler/function/gradient_function.h"
#include "compiler/plan/progress.h"
#include "compiler/regions/in_place.h"
#include "passes/communication/agree.h"
#include "passes/communication/reduce_gradients.h"
#include "passes/rewrite/rewrite.h"
#include "runtime/executable.h"
#include "runtime/onednn.h"
#include "runtime/tensor_memory.h"

namespace antegrad::compiler {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Rejects an argument whose shape the function changes and which it also reaches as a captured tensor.
void check_changed_inputs(const Captured& captured, const Leaves& leaves) {
  for (auto i : captured.functional.signature.changed)
    for (const auto& lifted : captured.trace.lifted)
      if (static_cast<size_t>(i) < leaves.tensors.size() && lifted.tensor.is_same(leaves.tensors[i]))
        throw Error(
            ErrorCode::UnsupportedTensor, "compile",
            fmt::format("the function changes the shape of argument {}, and also captures the same tensor",
                        i),
            "Use only the argument, or pass a view of the tensor");
}

/// Whether the function calls requires_grad_() on an argument. What it did with the argument before has no
/// gradient, which a run with the argument as it is afterwards would not show.
bool makes_leaves_of_arguments(const capture::Trace& trace) {
  return std::any_of(trace.inputs.begin(), trace.inputs.end(), [](const capture::TracedInput& input) {
    return input.end.requires_grad && !input.end.required_grad && !input.end.history_changed;
  });
}

/// Refuses a frozen function whose results would need gradients of what it captures.
void check_frozen_gradients(const ir::Graph& graph) {
  for (const auto& output : graph.outputs)
    if (output.role == ir::OutputRole::Grad && output.target >= 0 &&
        graph.inputs[output.target].role == ir::InputRole::Param)
      throw Error(ErrorCode::NeedsGrad, "compile",
                  fmt::format("Options::freeze makes captured tensors constants, and the results have a "
                              "gradient with respect to '{}'",
                              graph.inputs[output.target].name),
                  "Call the function under torch::NoGradGuard, or call requires_grad_(false) on what it "
                  "captures");
}

/// Runs what is computed from captured tensors alone. The guards, which are from before, watch what it reads,
/// and nothing else.
void compute_constants(const Captured& captured, VersionGuards& guards, TemplateParts& parts) {
  std::vector<std::optional<FrozenContents>> contents;
  for (auto& lifted : guards.lifted) contents.push_back(std::exchange(lifted.contents, std::nullopt));
  if (!parts.plan.frozen) return;
  const auto& frozen = *parts.plan.frozen;
  const auto reads = passes::reads_by_nodes(frozen);
  const auto& slots = captured.functional.signature.graph_inputs;
  std::vector<at::Tensor> inputs(frozen.inputs.size());
  for (size_t i = 0; i < frozen.inputs.size(); ++i) {
    if (reads[frozen.inputs[i].value] == 0) continue;
    const auto k = static_cast<size_t>(slots.at(i)) - captured.trace.user_inputs;
    if (!contents.at(k))
      throw Error(
          ErrorCode::UnsupportedTensor, "compile",
          fmt::format("writes to captured tensor '{}' could not be noticed: it is an inference tensor, "
                      "or has no memory of its own",
                      frozen.inputs[i].name),
          "Make it outside of c10::InferenceMode, or do not set Options::freeze");
    inputs[i] = contents[k]->take_tensor();
    guards.lifted[k].contents = std::move(contents[k]);
  }
  const trace::Span span("compute constants");
  runtime::Executable(frozen).run(inputs, parts.constants);
  const aten::BelowRecording below;
  for (size_t i = 0; i < parts.constants.size(); ++i) {
    const runtime::TensorShape shape(frozen.tensor_type(frozen.outputs[i].value));
    auto& tensor = parts.constants[i];
    if (tensor.is_mkldnn() || tensor.strides() == at::IntArrayRef(shape.strides)) continue;
    auto copy = runtime::empty_tensor(shape);  // kernels read memory by the strides of the graph
    copy.copy_(tensor);
    tensor = std::move(copy);
  }
}

std::shared_ptr<const Lowered> lower(const TemplateParts& parts, ir::Graph graph) {
  passes::agree_on_communication(graph);
  if (parts.plan.has_kernels) return lower(*parts.lowering, graph, parts.deterministic);
  trace_pass_without_code(graph, false, *parts.lowering);
  return std::make_shared<const Lowered>(graph);
}

/// Makes gradients of parameters sums over the processes of a group, where the options say so.
void reduce_gradients(const TemplateParts& parts, ir::Graph& backward) {
  const auto& how = parts.lowering->gradients();
  if (!how) return;
  std::vector<bool> reduced;
  for (const auto& output : backward.outputs)
    reduced.push_back(output.role == ir::OutputRole::Grad && output.target >= 0 &&
                      parts.captured.inputs[output.target].role == ir::InputRole::Param);
  passes::reduce_gradients(backward, reduced, {how->group, how->size, how->bucket_bytes, how->average});
}

/// Compiles a program over its sizes, or loads it from the cache.
TemplateParts compile_program(const CaptureSettings& settings, GeneralProgram program,
                              const CaptureFacts& facts, bool deterministic) {
  TemplateParts parts{.captured = std::move(program.found.graph),
                      .numbers = std::move(program.numbers),
                      .facts = facts,
                      .plan = {},
                      .forward = nullptr,
                      .cache = std::move(program.cache),
                      .lowering = settings.lowering,
                      .deterministic = deterministic,
                      .traced = trace::current()};
  trace_graph("captured", parts.captured);
  const trace::In in({parts.traced.function, parts.traced.version, "forward"});
  if (auto stored = parts.cache.load()) {  // cache/
    parts.plan = std::move(stored->plan);
    parts.forward = std::move(stored->forward);
    trace_plan(parts.plan);
    trace_pass_without_code(parts.plan.forward_graph(), parts.plan.has_kernels, *parts.lowering);
    return parts;
  }
  const auto start = Clock::now();
  tell_progress(settings.options, "plan", 0, 1);
  auto optimised = optimise(settings, parts.captured, facts);  // passes/
  optimised.before_fusion = with_bodies_in_place(settings, std::move(optimised.before_fusion), facts);
  parts.plan = divide(settings, std::move(optimised), facts);  // partition/
  if (settings.options.freeze)
    freeze(parts.plan, runtime::onednn::packs() && !settings.options.debug_compare);  // passes/freeze/
  tell_progress(settings.options, "plan", 1, 1);
  trace_plan(parts.plan);
  parts.forward = lower(parts, parts.plan.forward_graph());  // schedule/, codegen/, toolchain/
  parts.cache.store(parts.captured, parts.plan, *parts.forward, seconds_since(start));  // cache/
  return parts;
}

}  // namespace

/// Calls that run uncompiled would leave their gradients as they are, and other processes waiting.
static void check_gradients(const Options& options) {
  if (!options.gradients) return;
  const auto refuse = [](std::string_view fact, std::string_view way_out) {
    throw Error(ErrorCode::InvalidArgument, "options", fact, way_out);
  };
  if (options.unsupported != Unsupported::Error)
    refuse(
        "Options::gradients needs a function that is compiled as a whole, and Options::unsupported allows "
        "less",
        "Set Options::unsupported to Error");
  if (options.compile != Compile::Blocking)
    refuse("Options::gradients does not work with calls that run uncompiled while others compile",
           "Set Options::compile to Blocking");
  if (options.gradients->bucket_bytes < 1 || options.gradients->size < 1)
    refuse(fmt::format("Options::gradients has buckets of {} bytes and {} processes",
                       options.gradients->bucket_bytes, options.gradients->size),
           "Make it of a group, with buckets of at least one byte");
}

Driver::Driver(const CaptureSettings& settings)
    : settings_(settings), sizes_(settings, marks_of(settings.options)) {
  check_gradients(settings.options);
}

const Captured& Driver::capture(const Call& call, Recorded& recorded) const {
  if (recorded.captured) return *recorded.captured;
  const ModuleState modules(settings_.options.watch);
  auto settings = settings_;
  settings.may_keep = true;
  settings.kept = &recorded.kept;
  settings.met = &recorded.met;
  tell_progress(settings_.options, "capture", 0, 1);
  recorded.captured =
      capture_call(settings, {call.leaves.tensors.begin(), call.leaves.tensors.end()}, &modules, call.run);
  tell_progress(settings_.options, "capture", 1, 1);
  return *recorded.captured;
}

capture::Trace Driver::capture_forward(const Call& call, std::shared_ptr<capture::Follower> follower,
                                       Recorded& recorded, RunEnd& end) const {
  auto settings = settings_;
  settings.may_keep = true;
  settings.met = &recorded.met;
  return compiler::capture_forward(settings, {call.leaves.tensors.begin(), call.leaves.tensors.end()},
                                   call.run, std::move(follower), end);
}

void Driver::generalize(const Call& call, const Versions& versions, Recorded& recorded) {
  recorded.program = sizes_.generalize(call, *recorded.captured, versions);
  recorded.guards =
      guards_of_capture(settings_.options, call, *recorded.captured, recorded.program->found.shapes);
  generalize_numbers(call, versions, recorded);
}

/// Makes symbols of the numbers in which this call's graph differs from that of a version, if that is all.
void Driver::generalize_numbers(const Call& call, const Versions& versions, Recorded& recorded) const {
  if (settings_.options.dynamic == Dynamic::None || call.leaves.numbers.empty() ||
      !recorded.captured->bases.empty())
    return;
  auto& program = *recorded.program;
  for (const auto& version : versions) {
    if (version->is_eager() || !version->shapes_if_like(call)) continue;
    if (!version->guards().lifts_same(recorded.captured->trace)) continue;
    auto numbered = version->merge_numbers(program.found.graph, program.found.shapes, call);
    if (!numbered) continue;
    version->guards().same_but_numbers(call.leaves, &recorded.guards->free);
    program.numbers = numbered->numbers;
    if (!program.numbers.places.empty()) {
      program.found.graph = (*std::move(numbered)).graph;
      program.cache = FunctionCache::open(settings_, program.found.graph, facts_of(recorded.captured->trace),
                                          key_facts(program.found.graph, call.ambient));
    }
    return;
  }
}

void Driver::record(const Call& call, const Versions& versions, Recorded& recorded) {
  capture(call, recorded);  // capture/, aot/
  if (recorded.keeps()) return;
  generalize(call, versions, recorded);  // symbolic/, cache/
  if (!recorded.program->kept_tensors) return;
  // Tensors that the function kept at other sizes may have replaced some that this call needs.
  auto fixed_sizes = std::move(recorded.program->fixed_sizes);
  recorded.captured.reset();
  recorded.kept_elsewhere = true;
  capture(call, recorded);
  if (recorded.keeps()) return;
  generalize(call, versions, recorded);
  auto& all_fixed = recorded.program->fixed_sizes;
  all_fixed.insert(all_fixed.begin(), fixed_sizes.begin(), fixed_sizes.end());
}

std::shared_ptr<Version> Driver::compile(const Call& call, Recorded& recorded) const {
  const auto& options = settings_.options;
  const auto& captured = *recorded.captured;
  const auto& trace = captured.trace;
  check_changed_inputs(captured, call.leaves);
  if (options.freeze) check_frozen_gradients(recorded.program->found.graph);
  std::shared_ptr<detail::Function> gradients;
  if (trace.differentiable && trace.views.empty() && !makes_leaves_of_arguments(trace) && !options.gradients)
    gradients = GradientFunction::make_function(options);
  auto parts =
      compile_program(settings_, std::move(*recorded.program), facts_of(trace), call.ambient.deterministic);
  if (options.freeze) compute_constants(captured, *recorded.guards, parts);
  const auto version = std::make_shared<Version>(
      std::move(*recorded.guards), std::make_shared<const Template>(std::move(parts), options.backward_ahead),
      std::move(gradients), trace.counts.real_kernels);
  version->regions = captured.end.regions;
  for (auto& region : bodies_not_in_place(version->compiled().plan().forward_graph()))
    version->regions.push_back(std::move(region));
  auto instance = version->make_instance(settings_, call, captured);  // runtime/
  if (!instance)
    throw Error(ErrorCode::Internal, "compile",
                "a captured graph does not serve the call it was captured for: " + instance.reason());
  version->add(*std::move(instance), options.max_sizes);
  return version;
}

std::shared_ptr<const Lowered> compile_backward(const TemplateParts& parts,
                                                const runtime::BackwardCase& which) {
  const trace::Span span("make a backward pass");
  const std::vector<bool> key(which.begin(), which.end());
  const auto specialised = [&] {
    return runtime::specialize(parts.plan.partition->backward, parts.facts.reached_by, which);
  };
  if (parts.ready_backward)
    if (auto code = parts.ready_backward(key)) return code;
  if (auto code = parts.cache.load_backward(key)) {  // cache/
    if (trace::on()) trace_pass_without_code(specialised(), parts.plan.has_kernels, *parts.lowering);
    return code;
  }
  const auto start = Clock::now();
  auto graph = specialised();                                    // passes/
  reduce_gradients(parts, graph);                                // passes/
  auto code = lower(parts, std::move(graph));                    // schedule/, codegen/, toolchain/
  parts.cache.store_backward(key, *code, seconds_since(start));  // cache/
  return code;
}

std::shared_ptr<const Lowered> lower(const Lowering& lowering, const ir::Graph& graph,
                                     std::optional<bool> deterministic) {
  try {
    auto program = lowering.program(
        graph, deterministic.value_or(at::globalContext().deterministicAlgorithms()));  // schedule/
    trace_program(program, lowering);
    auto kernels = lowering.kernels(program);  // codegen/cpu/, toolchain/, cache/
    return std::make_shared<const Lowered>(std::move(program), std::move(kernels), lowering.debug_compare());
  } catch (const Error& error) {
    lowering.tolerate(error);
  }
  return std::make_shared<const Lowered>(graph);
}

}  // namespace antegrad::compiler
