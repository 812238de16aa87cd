#include "aot/functionalize.h"

#include <algorithm>

#include "antegrad/error.h"
#include "aot/functionalizer.h"
#include "aot/views.h"

namespace antegrad::aot {

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

/// A tensor that is rearranged before anyone else sees it is a new one.
void Functionalizer::visit_rearranged(const ir::Node& node) {
  const auto after = node.outputs[0];
  const auto before = *node.args[0].as<ir::ValueId>();
  const auto view = view_op_of_inplace(node.op);
  if (node.op.rfind("aten.resize", 0) == 0 || node.op.rfind("aten.as_strided", 0) == 0 ||
      aten::find_schema(view) == nullptr) {
    memory_.add_root(after, emit_.strided(memory_.read(before), trace_.graph.tensor_type(after), 0));
    return;
  }
  auto call = with_current_values(node);
  call.op = view;
  call.effects = {};
  memory_.add_root(after, emit_.infer(std::move(call)).at(0));
}

void Functionalizer::visit_metadata_change(const ir::Node& node, ir::Node& synonym) {
  const auto after = node.outputs[0];
  const auto base = trace_.graph.storage_of(after);
  const bool is_set = node.op.rfind("aten.set_", 0) == 0;
  if (base == after && !is_set) return visit_rearranged(node);
  if (node.op.rfind("aten.resize", 0) == 0) return visit_resize(node, synonym);
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
  if (is_set) return define_strided(node, synonym, source ? *source : base, object);
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

FunctionalGraph functionalize(const capture::Trace& trace) { return Functionalizer(trace).run(); }

}  // namespace antegrad::aot
