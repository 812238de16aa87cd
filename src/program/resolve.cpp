#include "program/resolve.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "antegrad/error.h"

namespace antegrad::program {
namespace {

[[noreturn]] void refuse_node(const Node& node, const std::string& fact, const std::string& way_out) {
  throw Error(ErrorCode::UnsupportedOp, "program:" + node.target, fact + where_in_python(node), way_out);
}

bool starts_with(const std::string& text, const std::string& start) {
  return text.compare(0, start.size(), start) == 0;
}

const std::set<std::string>& higher_order_ops() {
  static const auto& names = *new std::set<std::string>{"cond",
                                                        "while_loop",
                                                        "map_impl",
                                                        "scan",
                                                        "wrap_with_set_grad_enabled",
                                                        "wrap_with_autocast",
                                                        "tag_activation_checkpoint",
                                                        "wrap_activation_checkpoint",
                                                        "invoke_subgraph",
                                                        "strict_mode"};
  return names;
}

const std::set<std::string>& number_functions() {
  static const auto& names = *new std::set<std::string>{
      "add",    "sub",     "mul",     "floordiv",  "mod",     "pow",     "truediv", "neg",      "pos",
      "eq",     "ne",      "le",      "ge",        "lt",      "gt",      "and_",    "or_",      "lshift",
      "rshift", "sym_not", "sym_int", "sym_float", "sym_ite", "sym_max", "sym_min", "sym_sqrt", "trunc"};
  return names;
}

/// Enumerations are numbers for ops, which do not check them.
bool is_in_enumeration(const c10::Argument& wanted, const Argument& given) {
  auto type = wanted.real_type();
  if (const auto optional = type->cast<c10::OptionalType>()) type = optional->getElementType();
  const auto kind = type->kind();
  int64_t count = 0;
  if (kind == c10::TypeKind::ScalarTypeType) count = static_cast<int64_t>(at::ScalarType::NumOptions);
  if (kind == c10::TypeKind::LayoutType) count = static_cast<int64_t>(at::Layout::NumOptions);
  if (kind == c10::TypeKind::MemoryFormatType) count = static_cast<int64_t>(at::MemoryFormat::NumOptions);
  if (count == 0) return true;
  if (given.kind != Argument::Kind::Constant) return false;
  if (given.one.constant.isNone()) return true;
  return given.one.constant.isInt() && given.one.constant.toInt() >= 0 && given.one.constant.toInt() < count;
}

/// torch.ops.NAMESPACE.NAME.OVERLOAD
void resolve_op(Node& node) {
  const auto target = node.target.substr(std::string("torch.ops.").size());
  const auto first = target.find('.'), last = target.rfind('.');
  if (first == target.npos || first == last)
    refuse_node(node, fmt::format("\"{}\" names no op", node.target), "Export the model again");
  const auto name = target.substr(0, first) + "::" + target.substr(first + 1, last - first - 1);
  auto overload = target.substr(last + 1);
  if (overload == "default") overload.clear();
  node.op = c10::Dispatcher::singleton().findSchema({name, overload});
  if (!node.op)
    refuse_node(node, fmt::format("there is no op {} in this process", node.target),
                "If it is a custom op, load the library that defines it before the program; ops that are "
                "defined in Python only do not exist in C++");
  if (name == "aten::from_file")
    refuse_node(node, "the program opens a file of this machine", "Export a model that only computes");
  size_t used = 0;
  for (const auto& wanted : node.op->schema().arguments()) {
    const auto found = std::find_if(node.inputs.begin(), node.inputs.end(),
                                    [&](const NamedArgument& given) { return given.name == wanted.name(); });
    if (found == node.inputs.end() && !wanted.default_value())
      refuse_node(node, fmt::format("the argument `{}` is missing", wanted.name()),
                  "The program was exported for another version of this op: export it with PyTorch 2.11");
    used += found != node.inputs.end();
    node.op_arguments.push_back(found == node.inputs.end() ? -1
                                                           : static_cast<int>(found - node.inputs.begin()));
    if (found != node.inputs.end() && found->argument.kind == Argument::Kind::Graph)
      refuse_node(node, fmt::format("the argument `{}` is a graph", wanted.name()), "Export the model again");
    if (found != node.inputs.end() && !is_in_enumeration(wanted, found->argument))
      refuse_node(node, fmt::format("the argument `{}` is no {}", wanted.name(), wanted.real_type()->str()),
                  "Export the model again");
  }
  if (used != node.inputs.size())
    refuse_node(node, "it has an argument that the op does not take",
                "The program was exported for another version of this op: export it with PyTorch 2.11");
}

}  // namespace

std::string where_in_python(const Node& node) {
  auto out = node.name.empty() ? std::string() : fmt::format(" at node {}", node.name);
  // The innermost frame of a file: `  File "net.py", line 12, in forward`, and the line itself below it.
  auto file = node.stack_trace.rfind("File \"");
  while (file != node.stack_trace.npos && file > 0 && node.stack_trace.compare(file + 6, 1, "<") == 0)
    file = node.stack_trace.rfind("File \"", file - 1);
  if (file == node.stack_trace.npos) return out;
  auto frame =
      node.stack_trace.substr(file, node.stack_trace.find("File \"", file + 1) - file).substr(0, 300);
  while (!frame.empty() && std::isspace(static_cast<unsigned char>(frame.back()))) frame.pop_back();
  std::string line;
  for (const char c : frame)
    if (c != '\n' && c != '\r')
      line += c;
    else if (!line.empty() && line.back() != ' ')
      line += ' ';
  return out + " (" + line + ")";
}

void resolve(Node& node) {
  const std::string higher_order = "torch.ops.higher_order.";
  for (const char* module : {"_operator.", "torch.sym_", "math."}) {
    if (!starts_with(node.target, module)) continue;
    node.kind = Node::Kind::Number;
    node.function = node.target.substr(node.target.find('.') + 1);
    if (number_functions().count(node.function) == 0)
      refuse_node(node, fmt::format("{} of sizes is unknown", node.target), "Compute it with tensors");
    return;
  }
  if (starts_with(node.target, higher_order)) {
    node.kind = Node::Kind::HigherOrder;
    node.function = node.target.substr(higher_order.size());
    if (higher_order_ops().count(node.function) == 0)
      refuse_node(node, fmt::format("the higher-order op {} is not supported", node.function),
                  "Write it with ordinary ops, torch.cond, map, scan or while_loop");
    return;
  }
  if (!starts_with(node.target, "torch.ops."))
    refuse_node(node, fmt::format("\"{}\" names no op", node.target), "Export the model again");
  resolve_op(node);
}

}  // namespace antegrad::program
