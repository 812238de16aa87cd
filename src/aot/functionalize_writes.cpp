#include "antegrad/error.h"
#include "aot/functionalizer.h"
#include "aot/inplace.h"
#include "ir/element.h"

namespace antegrad::aot {

/// Returns element i of a foreach op, as a foreach op over lists of one.
static ir::Node element_of_foreach(const ir::Node& node, size_t i) {
  const auto count = node.effects.writes.size();
  auto element = node;
  element.effects.writes = {node.effects.writes[i]};
  for (auto& arg : element.args)
    if (auto* list = std::get_if<ir::Arg::List>(&arg.v); list != nullptr && list->size() == count)
      arg = ir::Arg(ir::Arg::List{(*list)[i]});
  return element;
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

}  // namespace antegrad::aot
