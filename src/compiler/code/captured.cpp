#include "compiler/code/captured.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/equal.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <utility>

#include "antegrad/error.h"
#include "aten/generators.h"
#include "capture/met_generators.h"
#include "compiler/code/kept.h"
#include "compiler/regions/region.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "passes/pipelines.h"
#include "runtime/guards.h"
#include "trace/trace.h"
#include "util/process_end.h"

namespace antegrad::compiler {
namespace {

/// Returns the views with their bases and appends to the inputs those bases that the user does not pass.
/// Groups that are not views of one tensor are skipped; functionalization rejects them.
std::vector<capture::ViewInput> share_bases(const std::vector<std::vector<int32_t>>& groups,
                                            std::vector<at::Tensor>& inputs, std::vector<SharedBase>& bases) {
  std::vector<capture::ViewInput> views;
  const auto own_inputs = inputs.size();
  for (const auto& group : groups) {
    at::Tensor base;
    bool one_base = true;
    for (auto i : group) {
      if (std::cmp_greater_equal(i, own_inputs)) {  // a captured tensor
        inputs.resize(own_inputs);
        bases.clear();
        return {};
      }
      const auto& tensor = inputs[i];
      const auto own = tensor.is_view() ? tensor._base() : tensor;
      one_base = one_base && (!base.defined() || own.is_same(base));
      base = own;
    }
    if (!one_base) continue;
    SharedBase shared{{}, -1};
    for (size_t i = 0; i < inputs.size() && shared.base < 0; ++i)
      if (inputs[i].is_same(base)) shared.base = static_cast<int32_t>(i);
    if (shared.base < 0) {
      shared.base = static_cast<int32_t>(inputs.size());
      inputs.push_back(base);
    }
    for (auto i : group) {
      if (i == shared.base) continue;
      shared.views.push_back(i);
      views.push_back({i, shared.base, {}});
    }
    bases.push_back(std::move(shared));
  }
  return views;
}

/// Sets the storage offset of input `i` to 0 in the graph unless matters[i].
void drop_input_offsets(ir::Graph& graph, const std::vector<bool>& matters) {
  ir::PerValue<ir::Dim> offsets(graph.values.size());
  for (size_t i = 0; i < matters.size(); ++i) {
    const auto value = graph.inputs[i].value;
    if (const auto* type = graph.type_of(value).tensor(); type != nullptr && !matters[i])
      offsets[value] = type->offset;
  }
  for (const auto v : graph.values.ids())
    if (auto* type = graph.values[v].type.tensor())
      type->offset = type->offset - offsets[graph.storage_of(v)];
}

/// Restores the thread's settings that a function changes. check() throws if the function leaves any but the
/// grad mode changed; the grad mode is part of the function's result.
class KeepSettings {
 public:
  ~KeepSettings() {
    if (!(runtime::Ambient::now() == before_)) runtime::restore(before_);
    c10::GradMode::set_enabled(before_.grad_mode);
  }
  void check() const {
    auto now = runtime::Ambient::now();
    now.grad_mode = before_.grad_mode;
    if (now == before_) return;
    throw Error(
        ErrorCode::UnsupportedOp, "capture",
        fmt::format("the function leaves a setting of LibTorch changed: {}", difference(before_, now)),
        "Put it back before the function returns, or change it outside");
  }

 private:
  const runtime::Ambient before_ = runtime::Ambient::now();
};

/// Detects that the function seeds the default generator, and restores it then. Captures draw nothing.
class KeepSeed {
 public:
  ~KeepSeed() {
    const std::scoped_lock lock(generator_.mutex());
    if (!is_seeded(generator_)) return;
    auto& now = *generator_.get<at::CPUGeneratorImpl>();
    auto& before = *before_.get<at::CPUGeneratorImpl>();
    now.set_engine(before.engine());
    now.set_next_float_normal_sample(before.next_float_normal_sample());
    now.set_next_double_normal_sample(before.next_double_normal_sample());
  }
  void check() const {
    const auto now = copy_of(generator_);
    if (!is_seeded(now)) return;
    throw Error(ErrorCode::UnsupportedOp, "capture:manual_seed",
                fmt::format("the function seeds LibTorch's generator, with {}", now.current_seed()),
                "Call torch::manual_seed() before the call, or set Options::unsupported to Eager");
  }

 private:
  bool is_seeded(const at::Generator& now) const {
    return aten::is_seeded_since(aten::seed_mark(before_), aten::seed_mark(now));
  }
  static at::Generator copy_of(at::Generator generator) {
    const std::scoped_lock lock(generator.mutex());
    return generator.clone();
  }

  at::Generator generator_ = aten::default_generator();
  const at::Generator before_ = copy_of(generator_);
};

capture::Trace trace_call(const CaptureSettings& settings, const std::vector<at::Tensor>& inputs,
                          std::vector<capture::ViewInput> views, const ModuleState* modules,
                          const detail::RunOnTensors& run, RunEnd& end, bool gradients = true,
                          std::shared_ptr<capture::Follower> follower = nullptr) {
  const trace::Span span("capture");
  capture::CaptureOptions capture_options;
  capture_options.name = settings.options.name;
  capture_options.gradients = gradients;
  capture_options.follower = std::move(follower);
  capture_options.histories = true;
  capture_options.effects = settings.effects;
  capture_options.views = std::move(views);
  capture_options.fill_kept = fill_kept;
  capture_options.may_keep = settings.may_keep;
  capture_options.kept = settings.kept;
  capture_options.met = settings.met;
  if (modules != nullptr)
    capture_options.name_of_lifted = [modules](const at::Tensor& tensor) { return modules->name_of(tensor); };
  return capture::capture(
      [&](const std::vector<at::Tensor>& fakes) {
        std::optional<KeepSettings> keep;
        std::optional<KeepSeed> seed;
        if (settings.may_change_settings) keep.emplace();
        if (keep && !process_end::destroys_statics()) seed.emplace();  // the generator is a static
        CapturesRegions regions(settings.options);
        auto outcome = run(fakes);
        if (keep) keep->check();
        if (seed) seed->check();
        end = {std::move(outcome.pattern), c10::GradMode::is_enabled(), std::move(outcome.structure),
               regions.take_notes()};
        return std::move(outcome.tensors);
      },
      inputs, capture_options);
}

/// Captures again with the generators in other states, in which the function must find them: a function that
/// seeds one itself, or draws from it on the host, cannot be replayed.
void check_generators(const capture::Trace& trace, const std::function<capture::Trace()>& again) {
  struct Restore {
    std::vector<std::pair<at::Generator, at::Tensor>> states;
    ~Restore() {
      for (const auto& [generator, state] : states) aten::set_state_of(generator, state);
    }
  } restore;
  std::vector<at::Tensor> expected;
  for (const auto& lifted : trace.lifted) {
    if (!lifted.generator.defined()) continue;
    auto generator = lifted.generator;
    restore.states.emplace_back(generator, aten::state_of(generator));
    const std::scoped_lock lock(generator.mutex());
    (void)generator.get<at::CPUGeneratorImpl>()->random();
    expected.push_back(aten::state_of_locked(generator));
  }
  if (expected.empty()) return;
  size_t next = 0;
  for (const auto& lifted : again().lifted)
    if (lifted.generator.defined() && (next == expected.size() || !at::equal(lifted.state, expected[next++])))
      capture::throw_changes_generator();
}

}  // namespace

Captured capture_call(const CaptureSettings& settings, std::vector<at::Tensor> inputs,
                      const ModuleState* modules, const detail::RunOnTensors& run) {
  Captured captured;
  captured.inputs = std::move(inputs);
  captured.trace = trace_call(settings, captured.inputs, {}, modules, run, captured.end);
  if (const auto shared = aot::find_shared_gradients(captured.trace); !shared.empty()) {
    auto views = share_bases(shared, captured.inputs, captured.bases);
    captured.trace = trace_call(settings, captured.inputs, std::move(views), modules, run, captured.end);
  }
  if (settings.effects && captured.trace.kept == 0)
    check_generators(captured.trace, [&] {
      RunEnd ignored;
      return trace_call(settings, captured.inputs, captured.trace.views, modules, run, ignored, false);
    });
  if (settings.options.verify) ir::verify(captured.trace.graph);
  const trace::Span span("functionalize");
  captured.functional = aot::functionalize(captured.trace);
  return captured;
}

capture::Trace capture_forward(const CaptureSettings& settings, const std::vector<at::Tensor>& inputs,
                               const detail::RunOnTensors& run, std::shared_ptr<capture::Follower> follower,
                               RunEnd& end) {
  return trace_call(settings, inputs, {}, nullptr, run, end, /*gradients=*/false, std::move(follower));
}

ir::Graph forward_of(capture::Trace trace) {
  auto graph = std::move(trace.graph);
  const auto is_later = [&](ir::ValueId v) {
    return v.valid() && std::cmp_greater_equal(v.index, trace.forward_values);
  };
  std::erase_if(graph.inputs, [&](const ir::Input& input) { return is_later(input.value); });
  std::erase_if(graph.nodes, [&](const ir::Node& node) {
    return node.provenance.backward || std::ranges::any_of(node.outputs, is_later);
  });
  std::erase_if(graph.outputs,
                [](const ir::Output& output) { return output.role != ir::OutputRole::UserOutput; });
  graph.values.resize(trace.forward_values);
  for (auto& input : graph.inputs) input.name.clear();
  drop_input_offsets(graph, std::vector<bool>(graph.inputs.size()));
  return graph;
}

ir::Graph without_input_offsets(const Captured& captured) {
  const auto& signature = captured.functional.signature;
  auto graph = captured.functional.graph;
  std::vector<bool> matters;
  for (auto slot : signature.graph_inputs) {
    const auto& fixed = signature.fixed_offsets;
    matters.push_back(std::find(fixed.begin(), fixed.end(), slot) != fixed.end());
  }
  drop_input_offsets(graph, matters);
  return graph;
}

std::string traced_text(const Captured& captured) {
  auto graph = captured.trace.graph;
  drop_input_offsets(graph, std::vector<bool>(graph.inputs.size()));
  return ir::print(graph);
}

bool has_lazy_bits(const capture::Trace& trace) {
  for (const auto& input : trace.inputs)
    if (input.memory.bits != 0) return true;
  return std::any_of(trace.graph.nodes.begin(), trace.graph.nodes.end(), [](const ir::Node& node) {
    return node.op == "aten._conj" || node.op == "aten._neg_view";
  });
}

CaptureFacts facts_of(const capture::Trace& trace) {
  CaptureFacts facts{trace.differentiable, has_lazy_bits(trace), {}};
  for (const auto& gradient : trace.gradients) facts.reached_by.push_back(gradient.reached_by);
  return facts;
}

}  // namespace antegrad::compiler
