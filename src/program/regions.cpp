#include "program/regions.h"

#include <algorithm>

#include "antegrad/control.h"
#include "compiler/regions/region.h"

namespace antegrad::program {
namespace {

using detail::RegionCall;
using detail::RegionForm;
using detail::RegionTensors;

RegionTensors tensors_in(const std::vector<Slot>& slots) {
  RegionTensors out;
  for (const auto& slot : slots)
    if (slot.value.isTensor() && slot.value.toTensor().defined()) out.push_back(slot.value.toTensor());
  return out;
}

/// What is computed inside of a region is data, and so is what it is called with.
std::vector<Slot> slots_of(const RegionTensors& tensors) {
  std::vector<Slot> out;
  for (const auto& tensor : tensors) out.push_back({tensor, {}});
  return out;
}

class RegionOfNode {
 public:
  RegionOfNode(const Operands& operands, RegionForm form) : operands_(operands) {
    call_.form = form;
    call_.place = where_in_python(operands.node());
  }

  void take_condition(const Slot& condition) { call_.operands = {condition.value.toTensor()}; }
  void carry(const std::vector<Slot>& carried) {
    call_.operands = tensors_in(carried);
    call_.carried = call_.operands.size();
  }
  void take_apart(const std::vector<Slot>& lists) {
    const auto tensors = tensors_in(lists);
    call_.operands.insert(call_.operands.end(), tensors.begin(), tensors.end());
    call_.sliced = tensors.size();
  }
  void use(std::vector<Slot> others) {
    others_ = std::move(others);
    call_.arguments = tensors_in(others_);
  }
  /// The graph that is argument `i` of the node. It is called with what the region gives, then the others.
  void add_body(size_t i) {
    call_.bodies.push_back([this, i](const RegionTensors& given) {
      const auto results = operands_.run(i, joined(slots_of(given), others_));
      if (!are_tensors(results))
        throw Error(ErrorCode::UnsupportedOp, "program:" + operands_.node().target,
                    "a branch or a turn returns a number" + where_in_python(operands_.node()),
                    "Return tensors, or set Options::unsupported to Eager or Break");
      return tensors_in(results);
    });
  }
  std::vector<Slot> run() const { return slots_of(detail::run_region(call_)); }

 private:
  const Operands& operands_;
  std::vector<Slot> others_;
  RegionCall call_;
};

bool writes(const Node& node) {
  if (node.op)
    for (const auto& argument : node.op->schema().arguments())
      if (argument.alias_info() != nullptr && argument.alias_info()->isWrite()) return true;
  return std::any_of(node.inputs.begin(), node.inputs.end(), [](const NamedArgument& input) {
    return input.argument.graph != nullptr && has_writes(*input.argument.graph);
  });
}

}  // namespace

bool makes_regions() { return compiler::captures_regions(); }

bool are_tensors(const std::vector<Slot>& slots) {
  return std::all_of(slots.begin(), slots.end(), [](const Slot& slot) {
    return slot.value.isTensor() && slot.value.toTensor().defined();
  });
}

bool has_writes(const Graph& graph) { return std::any_of(graph.nodes.begin(), graph.nodes.end(), writes); }

std::vector<Slot> cond_region(const Operands& operands) {
  RegionOfNode region(operands, RegionForm::Cond);
  region.take_condition(operands.one(0));
  region.use(operands.list(3));
  region.add_body(1);
  region.add_body(2);
  return region.run();
}

std::vector<Slot> while_region(const Operands& operands, const std::vector<Slot>& carried) {
  RegionOfNode region(operands, RegionForm::WhileLoop);
  region.carry(carried);
  region.use(operands.list(3));
  region.add_body(0);
  region.add_body(1);
  return region.run();
}

std::vector<Slot> scan_region(const Operands& operands) {
  RegionOfNode region(operands, RegionForm::Scan);
  region.carry(operands.list(1));
  region.take_apart(operands.list(2));
  region.use(operands.list(3));
  region.add_body(0);
  return region.run();
}

std::vector<Slot> map_region(const Operands& operands) {
  RegionOfNode region(operands, RegionForm::Map);
  region.take_apart(operands.list(1));
  region.use(operands.list(2));
  region.add_body(0);
  return region.run();
}

void note_written_out(const Operands& operands, int64_t turns) {
  compiler::CapturesRegions::note(fmt::format("{}{}: written out, {} turn{}", operands.node().function,
                                              where_in_python(operands.node()), turns,
                                              turns == 1 ? "" : "s"));
}

}  // namespace antegrad::program
