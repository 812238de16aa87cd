#pragma once
#include <torch/csrc/autograd/saved_variable.h>
#include <torch/csrc/autograd/utils/warnings.h>
#include <torch/csrc/dynamo/compiled_autograd.h>

#include <string_view>
#include <vector>

// Members of autograd's classes that LibTorch has no public functions for.
namespace antegrad::aten {

/// The version that the tensor had when it was saved.
uint32_t version_when_saved(const torch::autograd::SavedVariable& saved);
/// Whether no tensor was ever saved there.
bool was_never_set(const torch::autograd::SavedVariable& saved);

/// The warnings of a backward pass. LibTorch does not export the function that shows them.
std::vector<c10::Warning>& warnings_of(torch::autograd::utils::DelayWarningHandler& handler);

/// What nodes have collected so far, as bytes.
std::string_view collected(const torch::dynamo::autograd::CompiledNodeArgs& arguments);
/// Empty what nodes have collected. LibTorch makes new objects for each pass and node instead.
void forget(torch::dynamo::autograd::CompiledNodeArgs& arguments);
void forget(torch::dynamo::autograd::TensorArgs& arguments);

/// Restores what a node has saved, after running it on stand-ins has thrown.
void put_back(torch::dynamo::autograd::SwapSavedVariables& swap);

}  // namespace antegrad::aten
