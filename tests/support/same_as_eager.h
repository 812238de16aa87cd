#pragma once
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <string>
#include <vector>

#include "antegrad/antegrad.h"
#include "support/closeness.h"

namespace antegrad::test {

/// Compares all properties of a tensor; values as closeness.h defines.
inline ::testing::AssertionResult same(const at::Tensor& eager, const at::Tensor& compiled) {
  auto differ = [](const auto&... what) { return ::testing::AssertionFailure() << c10::str(what...); };
  if (eager.defined() != compiled.defined())
    return differ("defined: ", eager.defined(), " and ", compiled.defined());
  if (!eager.defined()) return ::testing::AssertionSuccess();
  if (eager.dtype() != compiled.dtype()) return differ("dtype: ", eager.dtype(), " and ", compiled.dtype());
  if (eager.sizes() != compiled.sizes()) return differ("sizes: ", eager.sizes(), " and ", compiled.sizes());
  if (eager.strides() != compiled.strides())
    return differ("strides: ", eager.strides(), " and ", compiled.strides());
  if (eager.storage_offset() != compiled.storage_offset())
    return differ("offset: ", eager.storage_offset(), " and ", compiled.storage_offset());
  if (eager.requires_grad() != compiled.requires_grad())
    return differ("requires_grad: ", eager.requires_grad(), " and ", compiled.requires_grad());
  if (eager.is_inference() != compiled.is_inference())
    return differ("is_inference: ", eager.is_inference(), " and ", compiled.is_inference());
  if (!same_values(eager.detach(), compiled.detach())) return differ("values:\n", eager, "\nand\n", compiled);
  return ::testing::AssertionSuccess();
}

inline ::testing::AssertionResult same(const std::vector<at::Tensor>& eager,
                                       const std::vector<at::Tensor>& compiled) {
  if (eager.size() != compiled.size())
    return ::testing::AssertionFailure() << eager.size() << " and " << compiled.size() << " tensors";
  for (size_t i = 0; i < eager.size(); ++i)
    if (auto result = same(eager[i], compiled[i]); !result) return result << " (tensor " << i << ")";
  return ::testing::AssertionSuccess();
}

/// For tensors that exist beyond the call: also compares version counters. (That of a new result may differ
/// from eager's, where it depends on how a kernel fills its memory.)
inline ::testing::AssertionResult same_state(const at::Tensor& eager, const at::Tensor& compiled) {
  if (auto result = same(eager, compiled); !result || !eager.defined() || eager.is_inference()) return result;
  if (eager._version() == compiled._version()) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "version: " << eager._version() << " and " << compiled._version();
}

inline ::testing::AssertionResult same_state(const std::vector<at::Tensor>& eager,
                                             const std::vector<at::Tensor>& compiled) {
  if (auto result = same(eager, compiled); !result) return result;
  for (size_t i = 0; i < eager.size(); ++i)
    if (auto result = same_state(eager[i], compiled[i]); !result) return result << " (tensor " << i << ")";
  return ::testing::AssertionSuccess();
}

/// Copies tensors for a later comparison.
inline std::vector<at::Tensor> copies(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> out;
  for (const auto& tensor : tensors) out.push_back(tensor.detach().clone());
  return out;
}

/// Returns the newest reason, or "" when there was no recapture.
template <class Compiled>
std::string last_reason(const Compiled& compiled) {
  const auto reasons = compiled.report().recapture_reasons;
  return reasons.empty() ? std::string() : reasons.back();
}

inline ::testing::AssertionResult contains(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "'" << part << "' is not in '" << text << "'";
}

/// Returns the code of the antegrad::Error that `call` throws.
template <class Call>
ErrorCode code_thrown_by(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.code();
  }
  throw std::runtime_error("no antegrad::Error was thrown");
}

}  // namespace antegrad::test
