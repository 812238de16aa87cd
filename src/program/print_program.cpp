#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sstream>

#include "program/program_state.h"

namespace antegrad::program {
namespace {

std::string print_expression(const Expression& expression) {
  using Op = Expression::Op;
  if (expression.op == Op::Number) return std::to_string(expression.number);
  if (expression.op == Op::Name) return expression.name;
  static const auto& signs =
      *new std::map<Op, const char*>{{Op::Add, " + "},          {Op::Subtract, " - "}, {Op::Multiply, " * "},
                                     {Op::FloorDivide, " // "}, {Op::Modulo, " % "},   {Op::Power, " ** "}};
  const auto sign = signs.find(expression.op);
  std::vector<std::string> operands;
  for (const auto& operand : expression.operands) operands.push_back(print_expression(operand));
  if (sign == signs.end())
    return fmt::format("{}({})", expression.op == Op::Max ? "max" : "min", fmt::join(operands, ", "));
  return fmt::format("({})", fmt::join(operands, sign->second));
}

const char* short_dtype(at::ScalarType dtype) {
  switch (dtype) {
    case at::kFloat:
      return "f32";
    case at::kDouble:
      return "f64";
    case at::kHalf:
      return "f16";
    case at::kBFloat16:
      return "bf16";
    case at::kLong:
      return "i64";
    case at::kInt:
      return "i32";
    case at::kShort:
      return "i16";
    case at::kChar:
      return "i8";
    case at::kByte:
      return "u8";
    case at::kBool:
      return "bool";
    default:
      return c10::toString(dtype);
  }
}

std::string print_constant(const c10::IValue& value) {
  if (value.isNone()) return "None";
  if (value.isString()) return fmt::format("\"{}\"", value.toStringRef());
  std::ostringstream out;
  out << value;
  return out.str();
}

class ProgramPrinter {
 public:
  explicit ProgramPrinter(const Graph& graph, int indent)
      : graph_(graph), indent_(static_cast<size_t>(indent), ' ') {}

  std::string print() const {
    std::string out;
    for (const auto& node : graph_.nodes) out += print_node(node);
    std::vector<std::string> results;
    for (const auto& output : graph_.outputs) results.push_back(print_argument(output));
    return out + fmt::format("{}return {}\n", indent_, fmt::join(results, ", "));
  }

 private:
  std::string name(const Element& element) const {
    return element.value == kNoValue ? print_constant(element.constant) : "%" + graph_.values[element.value];
  }
  std::string print_list(const std::vector<Element>& elements) const {
    std::vector<std::string> names;
    for (const auto& element : elements) names.push_back(name(element));
    return fmt::format("[{}]", fmt::join(names, ", "));
  }
  std::string print_argument(const Argument& argument) const {
    switch (argument.kind) {
      case Argument::Kind::Constant:
      case Argument::Kind::Value:
        return name(argument.one);
      case Argument::Kind::NestedTensors: {
        std::vector<std::string> lists;
        for (const auto& inner : argument.lists) lists.push_back(print_list(inner));
        return fmt::format("[{}]", fmt::join(lists, ", "));
      }
      case Argument::Kind::Graph: {
        std::vector<std::string> inputs;
        for (const int input : argument.graph->inputs) inputs.push_back(name_of(*argument.graph, input));
        return fmt::format("({}) {{\n{}{}}}", fmt::join(inputs, ", "),
                           ProgramPrinter(*argument.graph, static_cast<int>(indent_.size()) + 2).print(),
                           indent_);
      }
      default:
        return print_list(argument.elements);
    }
  }
  static std::string name_of(const Graph& graph, int value) {
    return value == kNoValue ? "_" : "%" + graph.values[value];
  }
  std::string print_node(const Node& node) const {
    std::vector<std::string> outputs, inputs;
    for (const auto& output : node.outputs) {
      std::vector<std::string> names;
      for (const int value : output.values) names.push_back(name_of(graph_, value));
      outputs.push_back(output.list     ? fmt::format("[{}]", fmt::join(names, ", "))
                        : names.empty() ? "_"
                                        : names[0]);
    }
    for (const auto& input : node.inputs)
      inputs.push_back(input.name.empty() ? print_argument(input.argument)
                                          : input.name + "=" + print_argument(input.argument));
    auto target = node.target;
    if (target.rfind("torch.ops.", 0) == 0) target = target.substr(10);
    return fmt::format("{}{}{}{}({}){}\n", indent_, fmt::join(outputs, ", "), outputs.empty() ? "" : " = ",
                       target, fmt::join(inputs, ", "), node.scope.empty() ? "" : "  # " + node.scope);
  }

  const Graph& graph_;
  std::string indent_;
};

std::string type_of_tensor(const at::Tensor& tensor) {
  return fmt::format("{}[{}]", short_dtype(tensor.scalar_type()), fmt::join(tensor.sizes(), ", "));
}

const char* kind_of(InputSpec::Kind kind) {
  switch (kind) {
    case InputSpec::Kind::Parameter:
      return "parameter";
    case InputSpec::Kind::Buffer:
      return "buffer";
    case InputSpec::Kind::Constant:
      return "constant";
    default:
      return "argument";
  }
}

}  // namespace

std::string type_of_leaf(const ProgramData& data, const Leaf& leaf) {
  if (leaf.baked) return print_constant(data.inputs[leaf.input].constant);
  if (!leaf.tensor) {
    const auto symbol = data.numbers.find(leaf.input);
    return symbol == data.numbers.end() ? "number" : "int " + print_expression(symbol->second);
  }
  const auto& input = data.tensors.at(leaf.input);
  std::vector<std::string> sizes;
  for (const auto& size : input.sizes)
    sizes.push_back(size.expression ? print_expression(*size.expression) : size.text);
  return fmt::format("{}[{}]", short_dtype(input.dtype), fmt::join(sizes, ", "));
}

std::string print_program(const ProgramData& data) {
  auto out = fmt::format("program {} of PyTorch {}\n", data.model, data.torch_version);
  for (const auto& [symbol, range] : data.symbols)
    out += fmt::format("size {}: {} to {}\n", symbol, range.min,
                       range.max == INT64_MAX ? "any" : std::to_string(range.max));
  for (const auto& guard : data.guards) out += fmt::format("condition {}\n", guard.text);
  for (size_t i = 0; i < data.inputs.size(); ++i) {
    const auto& input = data.inputs[i];
    const auto leaf =
        std::find_if(data.leaves.begin(), data.leaves.end(), [&](const Leaf& one) { return one.input == i; });
    const int value = data.graph.inputs[i];
    const auto name = leaf == data.leaves.end() ? input.name : leaf->name;
    out += fmt::format("{} {}: {}", kind_of(input.kind), name,
                       leaf == data.leaves.end() ? type_of_tensor(data.state.at(input.name).tensor)
                                                 : type_of_leaf(data, *leaf));
    if (value != kNoValue) out += fmt::format(" = %{}", data.graph.values[value]);
    out += "\n";
  }
  out += ProgramPrinter(data.graph, 0).print();
  for (size_t i = 0; i < data.outputs.size(); ++i)
    if (data.outputs[i].kind != OutputSpec::Kind::User)
      out += fmt::format("result {} is written to {} {}\n", i,
                         data.outputs[i].kind == OutputSpec::Kind::InputWrite ? "argument" : "buffer",
                         data.outputs[i].name);
  for (const auto& warning : data.warnings) out += fmt::format("warning: {}\n", warning);
  return out;
}

}  // namespace antegrad::program
