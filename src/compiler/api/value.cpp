#include "antegrad/value.h"

#include <fmt/format.h>

#include "antegrad/jit.h"

namespace antegrad::detail {
namespace {

/// Also gives every tuple its type, which it could not compute later from undefined tensors.
c10::IValue without_tensors(const c10::IValue& value) {
  const std::vector<at::Tensor> none;
  LeafReader blank(none);
  return Tree<c10::IValue>::rebuild(value, blank);
}

}  // namespace

std::shared_ptr<const CallStructure> call_structure(std::vector<std::optional<c10::IValue>> arguments,
                                                    const std::vector<size_t>& tensors,
                                                    std::optional<c10::IValue> result,
                                                    std::vector<std::optional<c10::IValue>> assigned) {
  auto structure = std::make_shared<CallStructure>();
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i] && tensors[i] != 0)
      structure->problem = fmt::format("argument {} has tensors in it and no form as a value", i);
    structure->arguments.push_back(std::move(arguments[i]));
    if (auto& kept = structure->arguments.back()) kept = without_tensors(*kept);
  }
  if (!result) structure->problem = "the result has no form as a value";
  std::vector<c10::IValue> results;
  if (result) results.push_back(*std::move(result));
  for (auto& value : assigned) {
    if (!value) structure->problem = "an argument that is assigned to has no form as a value";
    if (value) results.push_back(*std::move(value));
  }
  if (!structure->problem.empty()) return structure;
  if (results[0].isTuple() && results[0].toTupleRef().elements().empty()) results[0] = c10::IValue();
  structure->result = without_tensors(
      results.size() == 1 ? results[0] : c10::IValue(c10::ivalue::Tuple::create(std::move(results))));
  return structure;
}

}  // namespace antegrad::detail
