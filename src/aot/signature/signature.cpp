#include "aot/signature/signature.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/text.h"

namespace antegrad::aot {
namespace {

std::string text_of(const Source& source) {
  switch (source.kind) {
    case Source::Kind::Undefined:
      return "undefined";
    case Source::Kind::Result:
      return fmt::format("result {}", source.index);
    case Source::Kind::Input:
      return fmt::format("input {}", source.index);
    case Source::Kind::View:
      return fmt::format("view {}", source.index);
  }
  return {};
}

struct StepText {
  std::string operator()(const MakeBase& s) const {
    return fmt::format("slot {} = base of inputs {} (first at {}, {} elements)", s.slot,
                       fmt::join(s.members, ","), s.offset, s.elements);
  }
  std::string operator()(const TakeRngState& s) const {
    return fmt::format("slot {} = random state", s.slot);
  }
  std::string operator()(const TakeGenerators& s) const {
    return fmt::format("take the states of generators {}", fmt::join(s.inputs, ","));
  }
  std::string operator()(const SetGenerator& s) const {
    return fmt::format("result {} is the state of generator {}", s.result, s.input);
  }
  std::string operator()(const RunGraph&) const { return "run"; }
  std::string operator()(const Attach& s) const {
    return fmt::format("tangent {} is the gradient of {}", s.tangent, text_of(s.source));
  }
  std::string operator()(const SetVersion& s) const {
    return fmt::format("result {} has version {}", s.result, s.version);
  }
  std::string operator()(const SaveForBackward&) const { return "save for backward"; }
  std::string operator()(const ResizeInput& s) const {
    return fmt::format("resize input {} to [{}]", s.input, fmt::join(s.sizes, ","));
  }
  std::string operator()(const WriteBack& s) const {
    auto text =
        fmt::format("write result {} to slot {}{}", s.result, s.slot, s.with_history ? ", with history" : "");
    return s.members.empty() ? text : text + fmt::format(" through inputs {}", fmt::join(s.members, ","));
  }
  std::string operator()(const MakeView& s) const {
    auto text = fmt::format("view of {}{}: {}", text_of(s.source), s.no_grad ? ", no_grad" : "",
                            ir::print(ir::Graph{}, s.node));
    return s.result == 0 ? text : text + fmt::format(" #{}", s.result);
  }
  std::string operator()(const MakeOutput& s) const {
    auto text = fmt::format("output {}", text_of(s.source));
    if (s.requires_grad) text += " requires_grad";
    return text;
  }
  std::string operator()(const SetTensor& s) const {
    return fmt::format("{} becomes {}", text_of(s.tensor), text_of(s.source));
  }
  std::string operator()(const BumpVersion& s) const {
    return fmt::format("bump version of input {} by {}", s.input, s.by);
  }
  std::string operator()(const RequireGrad& s) const {
    return s.detach ? fmt::format("detach input {}", s.input)
                    : fmt::format("input {} requires_grad = {}", s.input, s.value);
  }
  std::string operator()(const RetainGrad& s) const {
    return fmt::format("{} retains its gradient", text_of(s.source));
  }
};

}  // namespace

const MakeBase* find_base(const Signature& signature, int32_t slot) {
  for (const auto& step : signature.steps)
    if (const auto* base = std::get_if<MakeBase>(&step); base != nullptr && base->slot == slot) return base;
  return nullptr;
}

std::string print(const Signature& signature) {
  std::string text;
  for (const auto& step : signature.steps) text += std::visit(StepText{}, step) + "\n";
  for (const auto& shared : signature.shared)
    text += fmt::format("inputs {} share memory at {}\n", fmt::join(shared.inputs, ","),
                        fmt::join(shared.offsets, ","));
  if (!signature.written.empty()) text += fmt::format("written: {}\n", fmt::join(signature.written, ","));
  if (!signature.gradients.empty())
    text += fmt::format("gradients of inputs {}\n", fmt::join(signature.gradients, ","));
  for (const auto& [input, times] : signature.backward_writes)
    text += fmt::format("backward writes input {}\n", input);
  if (!signature.fixed_offsets.empty())
    text += fmt::format("fixed offsets: {}\n", fmt::join(signature.fixed_offsets, ","));
  return text;
}

}  // namespace antegrad::aot
