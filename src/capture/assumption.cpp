#include "capture/assumption.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "aten/below_recording.h"
#include "capture/fake.h"
#include "capture/recorder.h"

namespace antegrad::capture {

using namespace aten;

namespace {

constexpr std::string_view kBroken = "[run:aten.equal] tensors were assumed to be ";

bool is_number(at::ScalarType type) {
  return c10::isIntegralType(type, true) || type == at::kHalf || type == at::kBFloat16 ||
         type == at::kFloat || type == at::kDouble || type == at::kComplexFloat || type == at::kComplexDouble;
}

/// Whether the tensor says that one number is less than another.
bool is_less(const ir::Graph& graph, const at::Tensor& tensor) {
  const auto* fake = as_fake(tensor);
  if (fake == nullptr) return false;
  const auto made = std::find_if(graph.nodes.rbegin(), graph.nodes.rend(), [&](const ir::Node& node) {
    return std::find(node.outputs.begin(), node.outputs.end(), fake->value()) != node.outputs.end();
  });
  return made != graph.nodes.rend() && (made->op.starts_with("aten.le.") || made->op.starts_with("aten.lt."));
}

/// The likely answer. Attention compares tensors that are one and the same, or have nothing to do with each
/// other. Ops that check their arguments compare a condition with true: it holds, or says that a number is
/// too small.
bool guess(const ir::Graph& graph, const at::Tensor& self, const at::Tensor& other, bool same) {
  if (same) return true;
  if (as_fake(self) == nullptr && as_fake(other) == nullptr) {
    const BelowRecording below;
    return at::equal(self, other);
  }
  return self.dim() == 0 && self.scalar_type() == at::kBool && !is_less(graph, self);
}

/// Runs below autograd, with the recording on.
void record_check(const at::Tensor& self, const at::Tensor& other, bool equal) {
  const auto holds = equal ? at::eq(self, other).all() : at::ne(self, other).any();
  at::_assert_async(holds,
                    fmt::format("{}{}, as in the call that was captured, and are not. Compare them outside "
                                "the function, or run it eagerly.",
                                kBroken, equal ? "equal" : "different"));
}

std::optional<bool> answer(Recorder& recorder, const at::Tensor& self, const at::Tensor& other) {
  if (self.scalar_type() != other.scalar_type() || self.device() != other.device()) return std::nullopt;
  if (self.sizes() != other.sizes()) return false;
  if (self.numel() == 0) return true;
  const bool same = self.is_same(other) || recorder.value_of(self) == recorder.value_of(other);
  if (same && c10::isIntegralType(self.scalar_type(), true)) return true;  // no NaN, which equals nothing
  if (recorder.backward != nullptr || !is_number(self.scalar_type())) return std::nullopt;
  const bool equal = guess(recorder.graph(), self, other, same);
  record_check(self, other, equal);
  recorder.has_assumptions = true;
  return equal;
}

}  // namespace

bool answer_equal(Recorder& recorder, torch::jit::Stack& stack) {
  const auto equal =
      answer(recorder, torch::jit::peek(stack, 0, 2).toTensor(), torch::jit::peek(stack, 1, 2).toTensor());
  if (!equal) return false;
  torch::jit::drop(stack, 2);
  stack.emplace_back(*equal);
  return true;
}

bool is_broken_assumption(const c10::Error& error) {
  return std::string_view(error.what_without_backtrace()).find(kBroken) != std::string_view::npos;
}

}  // namespace antegrad::capture
