#include "aten/autograd_members.h"

#include <type_traits>
#include <utility>

#include "aten/private_member.h"

namespace antegrad::aten {

using torch::autograd::SavedVariable;
using torch::autograd::utils::DelayWarningHandler;
using torch::dynamo::autograd::CompiledNodeArgs;
using torch::dynamo::autograd::SwapSavedVariables;
using torch::dynamo::autograd::TensorArgs;

ANTEGRAD_PRIVATE_MEMBER(SavedVersion, SavedVariable::saved_version_);
ANTEGRAD_PRIVATE_MEMBER(NeverSet, SavedVariable::was_default_constructed_);
ANTEGRAD_PRIVATE_MEMBER(DelayedWarnings, DelayWarningHandler::warnings_);
ANTEGRAD_PRIVATE_MEMBER(KeyBytes, CompiledNodeArgs::_specialization_key);
ANTEGRAD_PRIVATE_MEMBER(KeySize, CompiledNodeArgs::_specialization_key_size);
ANTEGRAD_PRIVATE_MEMBER(TensorsOfArgs, TensorArgs::_args);
ANTEGRAD_PRIVATE_MEMBER(SavedOfArgs, TensorArgs::_saved_variables);
ANTEGRAD_PRIVATE_MEMBER(NextId, TensorArgs::_next_id);
ANTEGRAD_PRIVATE_MEMBER(StashedVariables, SwapSavedVariables::stashed_variables);
ANTEGRAD_PRIVATE_MEMBER(StashedTensors, SwapSavedVariables::stashed_tensors);
ANTEGRAD_PRIVATE_MEMBER(StashedSymInts, SwapSavedVariables::stashed_symints);
ANTEGRAD_PRIVATE_MEMBER(StashedIValues, SwapSavedVariables::stashed_ivalues);

uint32_t version_when_saved(const SavedVariable& saved) { return saved.*member_of(SavedVersion{}); }

bool was_never_set(const SavedVariable& saved) { return saved.*member_of(NeverSet{}); }

std::vector<c10::Warning>& warnings_of(DelayWarningHandler& handler) {
  return handler.*member_of(DelayedWarnings{});
}

std::string_view collected(const CompiledNodeArgs& arguments) {
  return {reinterpret_cast<const char*>(arguments.*member_of(KeyBytes{})), arguments.*member_of(KeySize{})};
}

void forget(CompiledNodeArgs& arguments) { arguments.*member_of(KeySize{}) = 0; }

void forget(TensorArgs& arguments) {
  arguments.inputs.clear();
  (arguments.*member_of(TensorsOfArgs{})).clear();
  (arguments.*member_of(SavedOfArgs{})).clear();
  arguments.*member_of(NextId{}) = 1;
}

namespace {

template <class Stash>
void restore(Stash& stash) {
  for (auto& [place, stashed] : stash)
    *const_cast<std::remove_const_t<std::remove_pointer_t<std::remove_const_t<decltype(place)>>>*>(place) =
        std::move(stashed.prior_value);
  stash.clear();
}

}  // namespace

void put_back(SwapSavedVariables& swap) {
  restore(swap.*member_of(StashedVariables{}));
  restore(swap.*member_of(StashedTensors{}));
  restore(swap.*member_of(StashedSymInts{}));
  restore(swap.*member_of(StashedIValues{}));
}

}  // namespace antegrad::aten
