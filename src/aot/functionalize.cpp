#include "aot/functionalize.h"

#include <fmt/format.h>

#include <algorithm>

#include "antegrad/error.h"
#include "aot/convention.h"
#include "aot/inplace.h"
#include "aot/memory.h"
#include "aot/overlap.h"
#include "aot/views.h"
#include "aten/op_schema.h"
#include "ir/element.h"

namespace antegrad::aot {
namespace {

using aten::OpSchema;

/// Returns element i of a foreach op, as a foreach op over lists of one.
ir::Node element_of_foreach(const ir::Node& node, size_t i) {
  const auto count = node.effects.writes.size();
  auto element = node;
  element.effects.writes = {node.effects.writes[i]};
  for (auto& arg : element.args)
    if (auto* list = std::get_if<ir::Arg::List>(&arg.v); list != nullptr && list->size() == count)
      arg = ir::Arg(ir::Arg::List{(*list)[i]});
  return element;
}

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

/// Inputs that only the backward pass uses are read when it runs, each time. Nothing is computed from them
/// before.
void Functionalizer::read_late_inputs(const std::vector<RootId>& roots) {
  for (size_t k = 0; k < trace_.lifted.size(); ++k) {
    const auto input = trace_.user_inputs + k;
    if (!trace_.lifted[k].late || !roots[input].valid()) continue;
    const auto traced = trace_.graph.inputs[input].value;
    emit_.provenance = {};
    emit_.provenance.backward = true;
    emit_.provenance.roots = ~uint64_t{0};
    ir::Node read;
    read.op = "aten.clone";
    read.args = {memory_.read(traced)};
    read.effects.ordered = true;
    memory_.write(traced, emit_.infer(std::move(read))[0]);
  }
}

/// Returns the node with every traced tensor replaced by its current contents, without outputs.
ir::Node Functionalizer::with_current_values(const ir::Node& node) {
  auto copy = node;
  copy.outputs.clear();
  ir::for_each_input(copy, [&](ir::ValueId& v) {
    if (trace_.graph.type_of(v).tensor()) v = memory_.read(v);
  });
  return copy;
}

bool Functionalizer::same_types(const ir::Node& node) {
  bool same = true;
  ir::for_each_input(node, [&](ir::ValueId v) {
    if (const auto* type = trace_.graph.type_of(v).tensor()) same &= emit_.type(memory_.read(v)) == *type;
  });
  return same;
}

/// Gives result `index` of a traced node its memory: a new root, a view of the first argument where that is
/// on the same storage, or a region.
void Functionalizer::define(const ir::Node& node, size_t index, ir::ValueId value) {
  const auto traced = node.outputs[index];
  if (trace_.graph.type_of(traced).tensor() == nullptr) return;
  const auto storage = trace_.graph.storage_of(traced);
  if (storage == traced) {
    memory_.add_root(traced, value);
    return;
  }
  const auto* first = node.args.empty() ? nullptr : node.args[0].as<ir::ValueId>();
  if (first != nullptr && trace_.graph.storage_of(*first) == storage)
    memory_.add_view(traced, *first, node, static_cast<int32_t>(index), value);
  else
    memory_.add_region(traced, memory_.root_of(storage));
}

/// Defines a result of as_strided and similar ops, which count from the start of the storage. The graph
/// counts from `base`, a tensor of the same dtype on it. `object`: the previous value of the same tensor
/// object, where the op works in place.
void Functionalizer::define_strided(const ir::Node& node, ir::Node& synonym, ir::ValueId base,
                                    ir::ValueId object) {
  const auto traced = node.outputs[0];
  const auto& type = trace_.graph.tensor_type(traced);
  ir::Arg::List sizes(type.sizes.begin(), type.sizes.end());
  ir::Arg::List strides(type.strides.begin(), type.strides.end());
  synonym.op = "antegrad.strided";
  synonym.provenance = node.provenance;
  const auto offset = (type.offset - trace_.graph.tensor_type(base).offset).constant();
  synonym.args = {base, ir::Arg(std::move(sizes)), ir::Arg(std::move(strides)), offset};
  if (object.valid())
    memory_.add_changed(traced, object, base, synonym, {});
  else
    memory_.add_view(traced, base, synonym, 0);
}

void Functionalizer::visit_plain(const ir::Node& node) {
  const bool known = node.op.rfind("aten.", 0) != 0 || same_types(node);
  auto copy = with_current_values(node);
  std::vector<ir::ValueId> outputs;
  if (known) {
    std::vector<ir::Value> results;
    for (auto traced : node.outputs) {
      ir::Value value{trace_.graph.type_of(traced), {}};
      const auto storage = trace_.graph.storage_of(traced);
      if (storage != traced) {
        const auto* first = copy.args.empty() ? nullptr : copy.args[0].as<ir::ValueId>();
        value.base = result_.graph.storage_of(first != nullptr ? *first : memory_.read(storage));
      }
      results.push_back(std::move(value));
    }
    outputs = emit_.known(std::move(copy), results);
  } else {
    outputs = emit_.infer(std::move(copy));
  }
  for (size_t i = 0; i < outputs.size(); ++i) define(node, i, outputs[i]);
}

void Functionalizer::visit_resize(const ir::Node& node, ir::Node& synonym) {
  const auto before = *node.args[0].as<ir::ValueId>();
  const auto after = node.outputs[0];
  const auto root = trace_.graph.storage_of(before);
  const auto have = extent_of(trace_.graph.tensor_type(root));
  const auto need = extent_of(trace_.graph.tensor_type(after));
  if (need.first >= have.first && need.last <= have.last) {
    define_strided(node, synonym, before, before);
    return;
  }
  if (before != root || memory_.view_of(before) != nullptr || shares_storage(root))
    throw Error(ErrorCode::UnsupportedOp, "functionalize:" + node.op,
                "it makes a view larger than the memory that it shares with other tensors",
                "Make a new tensor of the larger size");
  ir::Node grow;
  grow.op = "antegrad.resize";
  const auto& type = trace_.graph.tensor_type(after);
  grow.args = {memory_.read(before), ir::Arg(ir::Arg::List(type.sizes.begin(), type.sizes.end()))};
  auto grown = type;
  grown.offset = 0;
  memory_.replace_storage(before, after, emit_.known(std::move(grow), {{grown, {}}})[0]);
}

/// Returns whether enlarging this input would affect other inputs, or memory around it.
bool Functionalizer::shares_storage(ir::ValueId input) const {
  const auto& inputs = trace_.graph.inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].value != input) continue;
    const auto& type = trace_.graph.tensor_type(input);
    const auto own_bytes = type.numel().constant() * ir::size_in_bytes(type.dtype);
    return !type.is_contiguous() || trace_.inputs[i].memory.bytes != own_bytes ||
           capture::shares_storage(trace_, i);
  }
  return false;
}

void Functionalizer::visit_metadata_change(const ir::Node& node, ir::Node& synonym) {
  const auto after = node.outputs[0];
  if (node.op.rfind("aten.resize", 0) == 0) return visit_resize(node, synonym);
  const auto base = trace_.graph.storage_of(after);
  const auto object = *node.args[0].as<ir::ValueId>();
  if (base == after) {  // set_() without a source: new, empty memory
    ir::Node empty;
    empty.op = "antegrad.constant";
    empty.attrs.push_back({"data", ir::Bytes(std::make_shared<std::vector<uint8_t>>())});
    memory_.add_root(after, emit_.known(std::move(empty), {{trace_.graph.type_of(after), {}}})[0]);
    memory_.continue_object(after, object);
    return;
  }
  const auto* source = node.args.size() > 1 ? node.args[1].as<ir::ValueId>() : nullptr;
  if (node.op.rfind("aten.set_", 0) == 0)
    return define_strided(node, synonym, source ? *source : base, object);
  if (node.op.rfind("aten.as_strided", 0) == 0 || aten::find_schema(view_op_of_inplace(node.op)) == nullptr)
    return define_strided(node, synonym, object, object);
  synonym = node;
  synonym.op = view_op_of_inplace(node.op);
  auto call = with_current_values(synonym);
  call.effects = {};
  const auto value = emit_.infer(std::move(call)).at(0);
  memory_.add_changed(after, object, object, synonym, value);
}

/// Like as_strided, these count from the start of the storage; the graph counts from the start of the value.
void Functionalizer::visit_strided_copy(const ir::Node& node) {
  const bool scatters = node.op == "aten.as_strided_scatter";
  const auto self = *node.args[0].as<ir::ValueId>();
  const auto& type = trace_.graph.tensor_type(self);
  const size_t first = scatters ? 2 : 1;
  auto dims = [&](size_t i) {
    std::vector<ir::Dim> out;
    for (const auto& arg : *node.args[i].as<ir::Arg::List>()) out.push_back(*arg.as<ir::Dim>());
    return out;
  };
  auto shape = type;
  shape.sizes = dims(first);
  shape.strides = dims(first + 1);
  const auto* given = node.args.size() > first + 2 ? node.args[first + 2].as<ir::Dim>() : nullptr;
  const auto offset = given != nullptr ? (*given - type.offset).constant() : 0;
  const auto value = memory_.read(self);
  const auto result =
      scatters ? emit_.strided_scatter(value, memory_.read(*node.args[1].as<ir::ValueId>()), shape, offset)
               : emit_.op("aten.clone", {emit_.strided(value, shape, offset)},
                          {{"memory_format", ir::MemoryFormat::Contiguous}});
  define(node, 0, emit_.fit(result, trace_.graph.tensor_type(node.outputs[0])));
}

/// Keeps the call, which is made once. Its view becomes an op of its own, made as often as it is needed.
void Functionalizer::visit_view_with_effects(const ir::Node& node, ir::Node& synonym) {
  const auto* first = node.args.empty() ? nullptr : node.args[0].as<ir::ValueId>();
  const auto& graph = trace_.graph;
  if (node.outputs.size() != 1 || first == nullptr ||
      graph.storage_of(*first) != graph.storage_of(node.outputs[0]) ||
      graph.tensor_type(*first).dtype != graph.tensor_type(node.outputs[0]).dtype)
    throw Error(ErrorCode::UnsupportedOp, "functionalize:" + node.op,
                "it returns views, but not just one view of its first argument in the same dtype",
                "Make the views with ops of LibTorch");
  auto call = with_current_values(node);
  const ir::Value result{graph.type_of(node.outputs[0]),
                         result_.graph.storage_of(*call.args[0].as<ir::ValueId>())};
  emit_.known(std::move(call), {result});
  define_strided(node, synonym, *first);
}

/// LibTorch's mul_ takes the number as its first operand and rounds it to the tensor's dtype; mul does not.
void Functionalizer::round_number(ir::Node& call, const OpSchema& schema) const {
  if (schema.name != "aten.mul_.Scalar") return;
  const auto dtype = emit_.type(*call.args[0].as<ir::ValueId>()).dtype;
  if (!ir::is_half(dtype)) return;
  if (const auto* number = call.args[1].as<double>())
    call.args[1] = ir::rounded_to(dtype, *number);
  else if (const auto* whole = call.args[1].as<ir::Dim>(); whole != nullptr && whole->is_constant())
    call.args[1] = ir::rounded_to(dtype, whole->constant());
}

bool Functionalizer::write_by_variant(const ir::Node& node, const OpSchema& schema) {
  const auto* variant = functional_variant(schema);
  if (variant == nullptr) return false;
  auto call = with_current_values(functional_call(node, schema, *variant));
  round_number(call, schema);
  const auto mark = result_.graph.nodes.size();
  call.effects = {};
  const auto values = emit_.infer(std::move(call));
  bool fits = values.size() == node.effects.writes.size();
  for (size_t i = 0; fits && i < values.size(); ++i) {
    const auto& wanted =
        trace_.graph.tensor_type(node.outputs.empty() ? node.effects.writes[i] : node.outputs[i]);
    // For other dtypes and layouts of what they write to, kernels may compute differently, with other
    // rounding.
    fits = same_layout(emit_.type(values[i]), wanted);
  }
  if (!fits) {
    result_.graph.nodes.resize(mark);
    return false;
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const auto target = node.effects.writes[i];
    if (node.outputs.empty()) {
      memory_.write(target, values[i]);
    } else {  // an out= argument that the op resized
      if (memory_.view_of(target) != nullptr || trace_.graph.storage_of(target) != target)
        throw Error(ErrorCode::UnsupportedOp, "functionalize:" + node.op,
                    "its out= argument is a view of another size", "Pass an out= tensor of the right size");
      memory_.replace_storage(target, node.outputs[i],
                              emit_.fit(values[i], trace_.graph.tensor_type(node.outputs[i])));
    }
  }
  return true;
}

void Functionalizer::write_on_copies(const ir::Node& node) {
  auto call = with_current_values(node);
  std::vector<ir::Value> results;
  for (auto traced : node.outputs) {
    if (trace_.graph.storage_of(traced) != traced)
      throw Error(ErrorCode::UnsupportedOp, "functionalize:" + node.op,
                  "it both writes to an argument and returns a view of one",
                  "Call it outside the compiled function");
    results.push_back({trace_.graph.type_of(traced), {}});
  }
  for (size_t i = 0; i < node.effects.writes.size(); ++i) {
    auto type = trace_.graph.tensor_type(node.effects.writes[i]);
    type.offset = 0;
    results.push_back({type, {}});
    call.effects.writes[i] = memory_.read(node.effects.writes[i]);
  }
  call.functional = true;
  const auto outputs = emit_.known(std::move(call), results);
  for (size_t i = 0; i < node.outputs.size(); ++i) define(node, i, outputs[i]);
  for (size_t i = 0; i < node.effects.writes.size(); ++i)
    memory_.write(node.effects.writes[i], outputs[node.outputs.size() + i]);
}

bool Functionalizer::writes_one_storage_twice(const ir::Node& node) {
  const auto& writes = node.effects.writes;
  for (size_t i = 0; i < writes.size(); ++i)
    for (size_t j = i + 1; j < writes.size(); ++j)
      if (memory_.root_of(writes[i]) == memory_.root_of(writes[j])) return true;
  return false;
}

/// Returns whether an element of a foreach op may read what an earlier one has written.
bool Functionalizer::reads_what_it_writes(const ir::Node& node) {
  bool found = false;
  for (size_t a = 1; a < node.args.size(); ++a)
    ir::for_each_value(node.args[a], [&](ir::ValueId read) {
      for (auto written : node.effects.writes) found |= memory_.root_of(read) == memory_.root_of(written);
    });
  return found;
}

void Functionalizer::visit_write(const ir::Node& node, const OpSchema& schema) {
  overlap_.check(node, schema);
  const bool is_foreach = node.op.rfind("aten._foreach_", 0) == 0;
  if (writes_one_storage_twice(node) || (is_foreach && reads_what_it_writes(node))) {
    if (!is_foreach)
      throw Error(ErrorCode::UnsupportedOp, "functionalize:" + node.op,
                  "it writes to two tensors that share memory", "Call it once for each of them");
    for (size_t i = 0; i < node.effects.writes.size(); ++i) {
      const auto element = element_of_foreach(node, i);
      if (!write_by_variant(element, schema)) write_on_copies(element);
    }
    return;
  }
  if (!write_by_variant(node, schema)) write_on_copies(node);
}

void Functionalizer::visit(const ir::Node& node, ir::Node& synonym) {
  emit_.provenance = node.provenance;
  if (node.op == "antegrad.alias") {  // another tensor object, the same contents
    const auto source = *node.args[0].as<ir::ValueId>();
    memory_.add_view(node.outputs[0], source, node, 0, memory_.read(source));
    return;
  }
  const auto* schema = aten::find_schema(node.op);
  if (schema == nullptr) return visit_plain(node);
  if (!node.effects.writes.empty()) return visit_write(node, *schema);
  if (schema->inplace_view && !node.outputs.empty()) return visit_metadata_change(node, synonym);
  const auto is_view = [&](ir::ValueId v) { return trace_.graph.storage_of(v) != v; };
  if (node.effects.ordered && std::ranges::any_of(node.outputs, is_view))
    return visit_view_with_effects(node, synonym);
  if (node.op == "aten.as_strided") return define_strided(node, synonym, *node.args[0].as<ir::ValueId>());
  if (node.op == "aten.as_strided_copy" || node.op == "aten.as_strided_scatter")
    return visit_strided_copy(node);
  visit_plain(node);
}

}  // namespace

FunctionalGraph functionalize(const capture::Trace& trace) { return Functionalizer(trace).run(); }

}  // namespace antegrad::aot
