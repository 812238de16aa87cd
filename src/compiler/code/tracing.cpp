#include "compiler/code/tracing.h"

#include <ATen/Context.h>
#include <fmt/format.h>

#include "antegrad/error.h"
#include "codegen/cpu/kernel_source.h"
#include "compiler/function/version.h"
#include "ir/text.h"
#include "ir/types.h"

namespace antegrad::compiler {
namespace {

using trace::Event;
using trace::JsonObject;

/// Most hexadecimal digits of a constant that are shown.
constexpr size_t kMostDigits = 64;

std::string policy_name(const Policy& policy) {
  static constexpr const char* kNames[] = {"MinCut", "SaveAll", "RecomputeAll", "MemoryBudget", "UserPolicy"};
  return kNames[policy.index()];
}

std::string joined(at::IntArrayRef numbers) {
  std::string text;
  for (auto number : numbers) text += fmt::format("{}{}", text.empty() ? "" : ", ", number);
  return text;
}

std::string tensor_text(size_t index, const at::Tensor& tensor) {
  if (!tensor.defined()) return fmt::format("tensor {} is undefined", index);
  auto text = fmt::format("tensor {}: {}", index, c10::toString(tensor.scalar_type()));
  if (tensor.layout() == c10::kStrided && !tensor.is_nested()) {
    text += fmt::format(" [{}]", joined(tensor.sizes()));
    if (!tensor.is_contiguous()) text += fmt::format(", strides {}", joined(tensor.strides()));
  }
  text += fmt::format(" on {}", tensor.device().str());
  return tensor.requires_grad() ? text + ", requires gradients" : text;
}

std::vector<std::string> guards_of(const Version& version, const Options& options, const Call& call) {
  const auto& leaves = call.leaves;
  const auto& ambient = call.ambient;
  std::vector<std::string> out;
  for (size_t i = 0; i < leaves.tensors.size(); ++i) {
    auto text = tensor_text(i, leaves.tensors[i]);
    out.push_back(version.is_dynamic() ? text + " (sizes as below)" : text);
  }
  if (!leaves.key.empty())
    out.push_back(fmt::format("numbers, strings and structure of the arguments as in that call{}",
                              version.guards().free.empty() ? "" : ", except numbers that may change"));
  out.push_back(fmt::format("grad mode {}, inference mode {}, autocast {}, default dtype {}",
                            ambient.grad_mode ? "on" : "off", ambient.inference_mode ? "on" : "off",
                            ambient.autocast_cpu || ambient.autocast_cuda ? "on" : "off",
                            c10::toString(ambient.default_dtype)));
  if (!options.watch.empty())
    out.push_back(fmt::format("the same parameters, buffers and training flags in {} watched module{}",
                              options.watch.size(), options.watch.size() == 1 ? "" : "s"));
  return out;
}

std::string toolchain_of(const Lowering& lowering) {
  try {
    return lowering.toolchain_name();
  } catch (const Error&) {  // it cannot be opened; compiling reports the error
    return "";
  }
}

std::vector<JsonObject> decisions_of(const schedule::Program& program) {
  std::vector<JsonObject> out;
  for (const auto& decision : program.decisions) {
    JsonObject object;
    object.add("what", decision.what).add("nodes", decision.nodes);
    if (!decision.why.empty()) object.add("why", decision.why);
    out.push_back(std::move(object));
  }
  return out;
}

std::vector<JsonObject> kernels_of(const schedule::Program& program, const Lowering& lowering) {
  std::vector<JsonObject> out;
  for (const auto& kernel : program.kernels) {
    JsonObject object;
    object.add("name", kernel.name).add("text", kernel.text);
    object.add("source", kernel.device == ir::Device::Kind::Cpu ? codegen::cpu::kernel_source(kernel)
                                                                : lowering.source(kernel, program.graph));
    out.push_back(std::move(object));
  }
  return out;
}

}  // namespace

std::string without_long_constants(const std::string& text) {
  std::string out;
  size_t done = 0;
  for (size_t at = text.find("x\""); at != std::string::npos; at = text.find("x\"", at)) {
    const auto digits = at + 2;
    const auto end = text.find_first_not_of("0123456789abcdef", digits);
    at = digits;
    if (end == std::string::npos || text[end] != '"' || end - digits <= kMostDigits) continue;
    out.append(text, done, digits + kMostDigits - done);
    out += fmt::format("… {} bytes", (end - digits) / 2);
    done = at = end;
  }
  return out.append(text, done);
}

void trace_function(const Options& options) {
  trace::attempt([&] {
    Event("function").with("name", options.name).with("policy", policy_name(options.policy)).send();
  });
}

void trace_version(const Version& version, const Options& options, const Call& call,
                   const std::string& reason, const std::string& eager_reason) {
  trace::attempt([&] {
    Event event("version");
    event.with("name", options.name).with("reason", reason).with("guards", guards_of(version, options, call));
    event.with("eager", version.is_eager()).with("dynamic", version.is_dynamic());
    if (!version.is_eager()) event.with("sizes", version.guards_text());
    event.send();
    if (!eager_reason.empty()) trace::warn("eager", eager_reason);
    for (const auto& [op, count] : version.shape_fallbacks())
      trace::warn("shape_fallback",
                  fmt::format("the shape of {} came from running its kernel on zeros, {} times", op, count),
                  "Capturing takes longer for it, calls do not");
  });
}

void trace_graph(const char* which, const ir::Graph& graph) {
  if (trace::on())
    Event("graph").with("which", which).with("text", without_long_constants(ir::print(graph))).send();
}

void trace_plan(const Plan& plan) {
  trace::attempt([&] {
    trace_graph("optimised", plan.graph);
    if (!plan.partition) return;
    const auto& partition = *plan.partition;
    trace_graph("forward", partition.forward);
    trace_graph("backward", partition.backward);
    std::vector<JsonObject> decisions;
    for (const auto& decision : partition.decisions) {
      JsonObject object;
      object.add("value", decision.value.index).add("op", decision.op).add("scope", decision.scope);
      object.add("bytes", decision.bytes).add("saved", decision.saved).add("reason", decision.reason);
      decisions.push_back(std::move(object));
    }
    Event("partition")
        .with("saved_bytes", partition.saved_bytes)
        .with("peak_forward", partition.peak.forward)
        .with("peak_backward", partition.peak.backward)
        .with("decisions", decisions)
        .send();
  });
}

void trace_program(const schedule::Program& program, const Lowering& lowering) {
  trace::attempt([&] {
    const trace::Span span("trace");
    Event("program")
        .with("text", without_long_constants(ir::print(program.graph)))
        .with("decisions", decisions_of(program))
        .with("kernels", kernels_of(program, lowering))
        .with("toolchain", toolchain_of(lowering))
        .with("isa", lowering.isa_name())
        .send();
  });
}

void trace_pass_without_code(const ir::Graph& graph, bool has_kernels, const Lowering& lowering) {
  trace::attempt([&] {
    schedule::Program program;
    if (has_kernels)
      program = lowering.program(graph, at::globalContext().deterministicAlgorithms());
    else
      program.graph = graph;
    trace_program(program, lowering);
  });
}

}  // namespace antegrad::compiler
