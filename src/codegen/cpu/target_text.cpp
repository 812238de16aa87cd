#include "codegen/cpu/target_text.h"

#include "codegen/text/c_text.h"
#include "codegen/text/op_text.h"

namespace antegrad::codegen::cpu {
namespace {

using Form = Target::Form;
using ir::DType;
using schedule::Combine;
using schedule::Op;
using schedule::OpCode;

const Op& op_of(const SectionPlan& plan, const Target& target) { return plan.section->ops[target.op]; }

/// Returns the type and the initial value of a target's variable.
std::string variable_type(const Target& target, Combine combine) {
  if (target.form == Target::Form::Ordered) return target.type == DType::F32 ? "int32_t" : "int64_t";
  // Vectors of bytes would not match the wider values beside them.
  if (combine == Combine::Any || combine == Combine::All || target.type == DType::Bool) return "int32_t";
  return std::string(scalar_type(target.type));
}

std::string initial_value(LaneNames& names, const Target& target, Combine combine) {
  const auto plain = neutral_text(target.type, combine);
  if (target.form != Target::Form::Ordered) return plain;
  return fmt::format(
      "{}({})", names.function(fmt::format("ag_order_{}_{}", name(combine), ir::name(target.type))), plain);
}

/// Declares and initialises a variable or a per-lane array.
void declare(Writer& writer, const LaneNames& names, const Target& target, std::string_view type,
             const std::string& name, const std::string& value) {
  if (!target.per_lane) {
    writer.line("{} {} = {};", type, name, value);
    return;
  }
  writer.line("{} {}[{}];", type, name, lanes(names.kernel()));
  writer.line("for (int64_t l = 0; l < n; ++l) {}[l] = {};", name, value);
}

/// Returns the chunk's accumulator of an op: a variable, or an element of memory.
std::string accumulator(LaneNames& names, const Op& op, const Target& target) {
  if (op.address.terms.empty())
    return names.kernel().lane >= 0 ? "*" + target.accumulator : target.accumulator;
  schedule::Affine address = op.address;
  address.offset = 0;
  return fmt::format("{}[{}]", target.accumulator, names.affine(address));
}

std::string value_of(LaneNames& names, const Op& op, const Target& target) {
  const auto value = names.scalar(op.args[0]);
  const auto type = names.type(op.args[0]);
  const bool truth = target.type == DType::Bool || op.combine == Combine::Any || op.combine == Combine::All;
  if (truth && type != DType::Bool) return fmt::format("({} != 0)", value);
  if (target.form != Form::Ordered) return value;
  return fmt::format("{}({})",
                     names.function(fmt::format("ag_order_{}_{}", name(op.combine), ir::name(target.type))),
                     value);
}

/// Whether the target has a variable per block.
bool is_of_block(const SectionPlan& plan, const Target& target) {
  return target.form == Form::Blocked && plan.block.level >= target.depth;
}

}  // namespace

DType accumulator_type(const LaneNames& names, const Op& op, const Target& target) {
  if (!op.address.terms.empty()) return names.memory(op.buffer);
  return target.type == DType::F32 && op.combine == Combine::Sum ? DType::F64 : target.type;
}

void begin_target(Writer& writer, LaneNames& names, const SectionPlan& plan, const Target& target) {
  const auto& op = op_of(plan, target);
  if (target.form == Form::Direct) return;
  if (is_of_block(plan, target)) {
    declare(writer, names, target, "double", target.total, "0.0");
    if (!target.rest.empty()) declare(writer, names, target, "double", target.rest, "0.0");
  } else
    declare(writer, names, target, variable_type(target, op.combine), target.name,
            initial_value(names, target, op.combine));
}

void begin_block(Writer& writer, LaneNames& names, const SectionPlan& plan, const Target& target) {
  if (!is_of_block(plan, target)) return;
  declare(writer, names, target, scalar_type(target.type), target.name,
          neutral_text(target.type, Combine::Sum));
}

void combine_target(Writer& writer, LaneNames& names, const SectionPlan& plan, const Target& target) {
  const auto& op = op_of(plan, target);
  const auto value = value_of(names, op, target);
  if (target.form == Form::Direct) {
    const auto type = accumulator_type(names, op, target);
    writer.line("{}", combine_text(accumulator(names, op, target), value, type, op.combine));
    return;
  }
  const auto type = target.form == Form::Ordered ? DType::I64 : target.type;
  writer.line("{}",
              combine_text(target.per_lane ? target.name + "[l]" : target.name, value, type, op.combine));
}

void end_block(Writer& writer, LaneNames& names, const SectionPlan& plan, const Target& target) {
  if (!is_of_block(plan, target)) return;
  const auto at = target.per_lane ? "[l]" : "";
  const auto loop = target.per_lane ? "for (int64_t l = 0; l < n; ++l) " : "";
  if (target.rest.empty())
    writer.line("{0}{1}{3} += {2}{3};", loop, target.total, target.name, at);
  else
    writer.line("{0}{5}(&{1}{4}, &{2}{4}, {3}{4});", loop, target.total, target.rest, target.name, at,
                names.function("ag_add_up_f64"));
}

void end_target(Writer& writer, LaneNames& names, const SectionPlan& plan, const Target& target) {
  const auto& op = op_of(plan, target);
  if (target.form == Form::Direct) return;
  const auto at = target.per_lane ? "[l]" : "";
  auto value = (target.form == Form::Blocked ? target.total : target.name) + at;
  if (!target.rest.empty())
    value = fmt::format("{}({}, {}{})", names.function("ag_whole_sum_f64"), value, target.rest, at);
  if (target.form == Form::Ordered)
    value =
        fmt::format("{}({})", names.function(fmt::format("ag_from_order_{}", ir::name(target.type))), value);
  if (op.code == OpCode::Accumulate) {
    const auto type = accumulator_type(names, op, target);
    writer.line("{}", combine_text(accumulator(names, op, target), value, type, op.combine));
    return;
  }
  if (target.form == Form::Plain) return;
  const auto type = scalar_type(target.type);
  if (!target.per_lane) {
    writer.line("const {} v{} = ({}){};", type, op.result, type, value);
    return;
  }
  writer.line("{} v{}[{}];", type, op.result, lanes(names.kernel()));
  writer.line("for (int64_t l = 0; l < n; ++l) v{}[l] = ({}){};", op.result, type, value);
}

}  // namespace antegrad::codegen::cpu
