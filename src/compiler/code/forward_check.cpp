#include "compiler/code/forward_check.h"

#include <algorithm>

#include "ir/substitute.h"
#include "symbolic/merge.h"

namespace antegrad::compiler {
namespace {

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
  return ir::equal_at(*forward_, sizes, forward_of(std::move(trace)));
}

}  // namespace antegrad::compiler
