#include "optim/formula.h"

#include <fmt/format.h>

#include <vector>

#include "optim/elementwise.h"

namespace antegrad::optim {
namespace {

using Name = std::string;  // of a value: "%3"

/// Writes nodes one after the other. Half types are converted when they are read and when they are written.
class FormulaText {
 public:
  using Value = Name;

  /// On the CPU, numbers are f64.
  FormulaText(const Formula& formula, bool on_device, bool scale_on_device)
      : device_(on_device ? "@cuda:0" : ""),
        given_(fmt::format("{}[s0]{}", ir::name(formula.dtype), device_)),
        type_(fmt::format("{}[s0]{}", ir::name(computed_type(formula)), device_)),
        number_(ir::name(on_device ? computed_type(formula) : ir::DType::F64)) {
    for (int32_t i = 0; i < 2 + states(formula); ++i) inputs_.push_back(input(given_));
    numbers_ = input(fmt::format("{}[{}]{}", number_, static_cast<int32_t>(kNumbers), device_));
    if (scale_on_device) scale_ = input(fmt::format("{}[1]{}", number_, device_));
    if (given_ == type_) return;
    for (auto& input : inputs_) input = convert(input, type_);
  }

  Name parameter() const { return inputs_[0]; }
  Name gradient() const { return inputs_[1]; }
  Name state(int32_t i) const { return inputs_[2 + i]; }

  Name mul(const Name& a, const Name& b) { return node("aten.mul.Tensor", a, b); }
  Name mul(const Name& a, Number n) { return mul(a, number(n)); }
  Name add(const Name& a, const Name& b) { return node("aten.add.Tensor", a, b); }
  Name add(const Name& a, Number n) { return add(a, number(n)); }
  Name div(const Name& a, const Name& b) { return node("aten.div.Tensor", a, b); }
  Name div(const Name& a, Number n) { return div(a, number(n)); }
  Name sub(const Name& a, const Name& b) { return node("aten.sub.Tensor", a, b); }
  Name maximum(const Name& a, const Name& b) { return node("aten.maximum", a, b); }
  Name sqrt(const Name& a) { return node("aten.sqrt", a); }
  Name sign(const Name& a) { return node("aten.sign", a); }
  Name clamp(const Name& a, Number low, Number high) {
    const auto from = number(low), to = number(high);
    return node("aten.clamp.Tensor", a, from, to);
  }

  void write_parameter(const Name& value) {
    new_parameter_ = value;
    write(0, value);
  }
  void write_state(int32_t i, const Name& value) { write(2 + i, value); }
  Name new_parameter() const { return new_parameter_; }

  std::string text() const {
    return fmt::format("graph @optimizer_step functional [s0: 1.. ~ 65536] {{\n{}{}{}}}\n", head_, nodes_,
                       outputs_);
  }

 private:
  Name number(Number n) {
    auto value = next();
    const auto& from = n == kScale && !scale_.empty() ? scale_ : numbers_;
    const auto offset = n == 0 ? "" : fmt::format("+{}", static_cast<int32_t>(n));
    nodes_ += fmt::format("  {}: {}[]{}{} &{} = aten.select.int({}, 0, {})\n", value, number_, offset,
                          device_, from, from, static_cast<int32_t>(n));
    return value;
  }
  Name input(const std::string& type) {
    auto value = next();
    head_ += fmt::format("  in {}: {} user\n", value, type);
    return value;
  }
  void write(int32_t input, Name value) {
    if (given_ != type_) value = convert(value, given_);
    outputs_ += fmt::format("  out {} mutated {}\n", value, input);
  }
  Name convert(const Name& value, const std::string& type) {
    auto result = next();
    nodes_ += fmt::format("  {}: {} = aten._to_copy({}, dtype={})\n", result, type, value,
                          type.substr(0, type.find('[')));
    return result;
  }
  Name next() { return fmt::format("%{}", values_++); }
  template <class... Arguments>
  Name node(const char* op, const Name& first, const Arguments&... rest) {
    auto value = next();
    nodes_ += fmt::format("  {}: {} = {}({}", value, type_, op, first);
    ((nodes_ += ", " + rest), ...);
    nodes_ += ")\n";
    return value;
  }

  const std::string device_, given_, type_, number_;
  std::string head_, nodes_, outputs_;
  std::vector<Name> inputs_;
  Name numbers_, scale_, new_parameter_;
  int32_t values_ = 0;
};

}  // namespace

int32_t states_of_method(const Formula& formula) {
  switch (formula.method) {
    case Method::Sgd:
      return formula.momentum ? 1 : 0;
    case Method::Adam:
    case Method::AdamW:
      return formula.amsgrad ? 3 : 2;
    case Method::Adagrad:
    case Method::Lion:
    case Method::Muon:
      return 1;
    case Method::RmsProp:
      return 1 + (formula.momentum ? 1 : 0) + (formula.centered ? 1 : 0);
    case Method::NAdam:
    case Method::Lamb:
      return 2;
    case Method::Adafactor:
      return formula.factored ? 2 : 1;
  }
  return 0;
}

int32_t states(const Formula& formula) { return states_of_method(formula) + (formula.averages ? 1 : 0); }

ir::DType computed_type(const Formula& formula) {
  return formula.dtype == ir::DType::F64 ? ir::DType::F64 : ir::DType::F32;
}

std::string graph_text(const Formula& formula) {
  FormulaText text(formula, false, false);
  apply_elementwise(formula, text);
  return text.text();
}

std::string device_graph_text(const Formula& formula, bool scale_on_device) {
  FormulaText text(formula, true, scale_on_device);
  apply_elementwise(formula, text);
  return text.text();
}

}  // namespace antegrad::optim
