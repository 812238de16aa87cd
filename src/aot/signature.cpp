#include "aot/signature.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/text.h"

namespace antegrad::aot {
namespace {

std::string text_of(const Recipe& recipe) {
  std::string text;
  switch (recipe.kind) {
    case Recipe::Kind::Undefined: return "undefined";
    case Recipe::Kind::Result: text = fmt::format("result {}", recipe.index); break;
    case Recipe::Kind::Input: text = fmt::format("input {}", recipe.index); break;
    case Recipe::Kind::Output: text = fmt::format("output {}", recipe.index); break;
  }
  for (const auto& view : recipe.views) {
    text += " | " + ir::print(ir::Graph{}, view.node);
    if (view.output != 0) text += fmt::format("#{}", view.output);
  }
  return text;
}

struct StepText {
  std::string operator()(const MakeBase& s) const {
    return fmt::format("slot {} = base of inputs {} (first at {}, {} elements)", s.slot, fmt::join(s.members, ","), s.offset,
                       s.elements);
  }
  std::string operator()(const RunGraph&) const { return "run"; }
  std::string operator()(const ResizeInput& s) const {
    return fmt::format("resize input {} to [{}]", s.input, fmt::join(s.sizes, ","));
  }
  std::string operator()(const WriteBack& s) const { return fmt::format("write result {} to slot {}", s.result, s.slot); }
  std::string operator()(const MakeOutput& s) const {
    auto text = fmt::format("output {} = {}", s.output, text_of(s.recipe));
    if (s.version > 0) text += fmt::format(" version {}", s.version);
    if (s.requires_grad) text += " requires_grad";
    return text;
  }
  std::string operator()(const SetInput& s) const { return fmt::format("input {} becomes {}", s.input, text_of(s.recipe)); }
  std::string operator()(const BumpVersion& s) const { return fmt::format("bump version of input {} by {}", s.input, s.by); }
  std::string operator()(const RequireGrad& s) const {
    return fmt::format("input {} requires_grad = {}", s.input, s.value);
  }
};

}  // namespace

std::string print(const Signature& signature) {
  std::string text;
  for (const auto& step : signature.steps) text += std::visit(StepText{}, step) + "\n";
  for (const auto& shared : signature.shared)
    text += fmt::format("inputs {} share memory at {}\n", fmt::join(shared.inputs, ","), fmt::join(shared.offsets, ","));
  if (!signature.written.empty()) text += fmt::format("written: {}\n", fmt::join(signature.written, ","));
  if (!signature.fixed_offsets.empty())
    text += fmt::format("fixed offsets: {}\n", fmt::join(signature.fixed_offsets, ","));
  return text;
}

}  // namespace antegrad::aot
