#pragma once
#include <vector>

#include "aot/convention.h"
#include "aot/memory.h"
#include "aot/overlap.h"
#include "aten/op_schema.h"

namespace antegrad::aot {

using aten::OpSchema;

/// Visits the nodes of a trace in order. Views and changes of metadata are in functionalize.cpp, writes in
/// functionalize_writes.cpp.
class Functionalizer {
 public:
  explicit Functionalizer(const capture::Trace& trace)
      : trace_(trace), overlap_(trace), emit_(result_.graph), memory_(trace.graph, emit_) {}

  FunctionalGraph run() {
    result_.graph.name = trace_.graph.name;
    result_.graph.stage = ir::Stage::Functional;
    result_.graph.symbols = trace_.graph.symbols;
    synonyms_.resize(trace_.graph.nodes.size());
    if (trace_.differentiable) result_.graph.stage = ir::Stage::Joint;
    const auto inputs = add_inputs(trace_, emit_, memory_, result_.signature);
    const auto& nodes = trace_.graph.nodes;
    size_t i = 0;
    for (; i < nodes.size() && !nodes[i].provenance.backward; ++i) visit(nodes[i], synonyms_[i]);
    finish_signature(trace_, inputs, emit_, memory_, result_);
    read_late_inputs(inputs);
    const auto generations = memory_.generations();
    for (; i < nodes.size(); ++i) visit(nodes[i], synonyms_[i]);
    if (trace_.differentiable) add_gradients(trace_, inputs, generations, memory_, result_);
    return std::move(result_);
  }

 private:
  void read_late_inputs(const std::vector<RootId>& roots);
  void visit(const ir::Node& node, ir::Node& synonym);
  void visit_plain(const ir::Node& node);
  void visit_rearranged(const ir::Node& node);
  void visit_metadata_change(const ir::Node& node, ir::Node& synonym);
  bool shares_storage(ir::ValueId input) const;
  void visit_resize(const ir::Node& node, ir::Node& synonym);
  void visit_strided_copy(const ir::Node& node);
  void visit_view_with_effects(const ir::Node& node, ir::Node& synonym);
  void visit_write(const ir::Node& node, const OpSchema& schema);
  void round_number(ir::Node& call, const OpSchema& schema) const;
  bool write_by_variant(const ir::Node& node, const OpSchema& schema);
  void write_on_copies(const ir::Node& node);
  bool writes_one_storage_twice(const ir::Node& node);
  bool reads_what_it_writes(const ir::Node& node);
  ir::Node with_current_values(const ir::Node& node);
  bool same_types(const ir::Node& node);
  void define(const ir::Node& node, size_t index, ir::ValueId value);
  void define_strided(const ir::Node& node, ir::Node& synonym, ir::ValueId base, ir::ValueId object = {});

  const capture::Trace& trace_;
  const OverlapCheck overlap_;
  FunctionalGraph result_;
  Emitter emit_;
  Memory memory_;
  /// Per traced node: the view op that stands for it, where that is another one.
  std::vector<ir::Node> synonyms_;
};

}  // namespace antegrad::aot
