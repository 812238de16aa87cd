#include "compiler/code/forward_check.h"

#include <algorithm>
#include <string_view>

#include "ir/ops.h"
#include "ir/substitute.h"
#include "symbolic/merge.h"

namespace antegrad::compiler {
namespace {

/// Returns the name without the underscore of an op that works in place.
std::string functional_name(const std::string& op) {
  const auto overload = op.find('.', op.find('.') + 1);
  const auto end = overload == std::string::npos ? op.size() : overload;
  return end > 0 && op[end - 1] == '_' ? op.substr(0, end - 1) + op.substr(end) : op;
}

/// Whether the formula of the op's derivative does the same at all sizes above 1. Those of ops that are not
/// in the table of ops, or that LibTorch alone computes, have not been read: they may compare sizes with each
/// other, as those of decompositions of matrices do.
bool has_uniform_derivative(const std::string& traced) {
  const auto op = functional_name(traced);
  if (op.rfind("antegrad.", 0) == 0 || op == "aten.cumsum") return true;
  const auto* info = ir::find_op(op);
  if (info == nullptr || info->kind == ir::OpKind::Extern || info->kind == ir::OpKind::Effect) return false;
  // Overlapping elements; no degrees of freedom left; which of several formulas.
  constexpr std::string_view kBySize[] = {"aten.as_strided", "aten.var", "aten.std", "aten.prod"};
  return std::ranges::none_of(kBySize, [&](std::string_view name) { return op.rfind(name, 0) == 0; });
}

bool has_uniform_derivatives(const ir::Graph& forward) {
  return std::ranges::all_of(forward.nodes, [](const ir::Node& node) {
    return node.effects.random || has_uniform_derivative(node.op);
  });
}

/// Whether views may reach beyond the tensor that they are views of (Instance::reach).
bool may_leave_memory(const ir::Graph& forward) {
  return std::ranges::any_of(forward.nodes,
                             [](const ir::Node& node) { return node.op == "aten.as_strided"; });
}

/// Whether a size that depends on symbols is 0 or 1 in `graph`.
bool has_special_sizes(const ir::Graph& over_symbols, const ir::Graph& graph) {
  for (const auto v : graph.values.ids()) {
    const auto* general = over_symbols.type_of(v).tensor();
    const auto* type = graph.type_of(v).tensor();
    if (general == nullptr || type == nullptr || general->sizes.size() != type->sizes.size()) continue;
    for (size_t d = 0; d < type->sizes.size(); ++d)
      if (!general->sizes[d].is_constant() && type->sizes[d].constant() <= 1) return true;
  }
  return false;
}

/// Whether nothing but ops and their arguments decides what the backward pass does.
bool follows_from_forward(const Captured& captured) {
  const auto& trace = captured.trace;
  const auto throws = [](const capture::TangentEnd& tangent) { return tangent.error != nullptr; };
  const auto is_late = [](const capture::LiftedTensor& lifted) { return lifted.late; };
  return trace.histories.plain && captured.bases.empty() && trace.views.empty() && !trace.has_assumptions &&
         trace.kept == 0 && std::ranges::none_of(trace.tangents, throws) &&
         std::ranges::none_of(trace.lifted, is_late);
}

bool depends_on_memory(const aot::Signature& signature) {
  return !signature.fixed_offsets.empty() || !signature.shared.empty() || !signature.apart.empty() ||
         !signature.backward_writes.empty();
}

}  // namespace

ForwardCheck::Ends ForwardCheck::ends_of(const capture::Trace& trace) {
  Ends ends{trace.inputs, trace.output_ends, trace.duplicate_of, trace.histories};
  ends.inputs.resize(trace.user_inputs + trace.lifted.size());
  for (auto& input : ends.inputs) input.memory.bytes = 0;  // depends on the sizes
  return ends;
}

void ForwardCheck::add(const std::vector<int64_t>& sizes, const Captured& captured,
                       const aot::Signature& signature) {
  if (!usable_ || forward_ != nullptr || std::ranges::find(sizes_, sizes) != sizes_.end()) return;
  auto ends = ends_of(captured.trace);
  usable_ = follows_from_forward(captured) && !depends_on_memory(signature) &&
            (sizes_.empty() || (ends == ends_ && signature == signature_));
  if (!usable_) {
    graphs_.clear();
    return;
  }
  ends_ = std::move(ends);
  signature_ = signature;
  sizes_.push_back(sizes);
  graphs_.push_back(forward_of(captured.trace));
  if (may_leave_memory(graphs_.back()) ||
      (captured.trace.differentiable && !has_uniform_derivatives(graphs_.back()))) {
    usable_ = false;
    graphs_.clear();
    return;
  }
  if (sizes_.size() >= std::max<size_t>(shapes_.symbols.size() + 2, 4)) merge();
}

void ForwardCheck::merge() {
  symbolic::Solver solver(sizes_);
  for (const auto& tensor : shapes_.tensors) {
    for (const auto& size : tensor.sizes) solver.learn(size);
    for (const auto& stride : tensor.strides) solver.learn(stride);
  }
  std::vector<const ir::Graph*> graphs;
  for (const auto& graph : graphs_) graphs.push_back(&graph);
  try {
    auto merged = symbolic::merge(graphs, solver);
    merged.symbols = shapes_.symbols;
    forward_ = std::make_shared<const ir::Graph>(std::move(merged));
  } catch (const symbolic::Mismatch&) {  // whole captures find out
    usable_ = false;
  }
  graphs_.clear();
}

bool ForwardCheck::decides(std::vector<int64_t> sizes) const {
  if (forward_ == nullptr) return false;
  std::ranges::sort(sizes);
  return sizes.front() > 1 && std::ranges::adjacent_find(sizes) == sizes.end();
}

bool ForwardCheck::holds(const std::vector<int64_t>& sizes, capture::Trace trace) const {
  if (trace.kept > 0 || trace.has_assumptions || ends_of(trace) != ends_) return false;
  const auto forward = forward_of(std::move(trace));
  return ir::equal_at(*forward_, sizes, forward) && !has_special_sizes(*forward_, forward);
}

}  // namespace antegrad::compiler
