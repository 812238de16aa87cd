#include "program/interpreter.h"

#include <ATen/ScalarOps.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <typeinfo>

#include "antegrad/error.h"
#include "antegrad/function.h"
#include "antegrad/options.h"
#include "aten/below_recording.h"
#include "program/resolve.h"

namespace antegrad::program {
namespace {

[[noreturn]] void refuse_value(const Node& node, const std::string& fact, const std::string& way_out) {
  throw Error(ErrorCode::InvalidArgument, "program:" + node.target, fact + where_in_python(node), way_out);
}

/// A number where an op wants a tensor does not take part in the promotion of dtypes.
at::Tensor wrapped_number(const at::Scalar& number) {
  auto tensor = c10::scalar_to_tensor(number);
  tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
  return tensor;
}

c10::IValue fit_list(const c10::IValue& value, const c10::TypePtr& element) {
  const auto elements = value.toListRef();
  if (element->kind() == c10::TypeKind::OptionalType) {
    if (!value.isTensorList()) return value;
    c10::List<std::optional<at::Tensor>> out;
    for (const auto& tensor : elements) out.push_back(tensor.toTensor());
    return out;
  }
  switch (element->kind()) {
    case c10::TypeKind::IntType: {
      std::vector<int64_t> out;
      for (const auto& number : elements) out.push_back(number.toScalar().toLong());
      return out;
    }
    case c10::TypeKind::FloatType: {
      std::vector<double> out;
      for (const auto& number : elements) out.push_back(number.toScalar().toDouble());
      return out;
    }
    case c10::TypeKind::BoolType: {
      c10::List<bool> out;
      for (const auto& number : elements) out.push_back(number.toBool());
      return out;
    }
    case c10::TypeKind::NumberType: {
      c10::List<at::Scalar> out;
      for (const auto& number : elements) out.push_back(number.toScalar());
      return out;
    }
    case c10::TypeKind::TensorType: {
      c10::List<at::Tensor> out;
      for (const auto& tensor : elements)
        out.push_back(tensor.isTensor() ? tensor.toTensor() : wrapped_number(tensor.toScalar()));
      return out;
    }
    default:
      return value;
  }
}

/// Returns the value as the type of an argument wants it.
c10::IValue fit(const c10::IValue& value, c10::TypePtr type) {
  if (const auto optional = type->cast<c10::OptionalType>()) {
    if (value.isNone()) return value;
    type = optional->getElementType();
  }
  const auto kind = type->kind();
  if (kind == c10::TypeKind::TensorType && value.isScalar()) return wrapped_number(value.toScalar());
  if (kind == c10::TypeKind::TensorType && value.isNone()) return at::Tensor();
  if (kind == c10::TypeKind::FloatType && (value.isInt() || value.isBool()))
    return value.toScalar().toDouble();
  if (kind == c10::TypeKind::IntType && value.isBool()) return static_cast<int64_t>(value.toBool());
  if (kind == c10::TypeKind::IntType && value.isTensor() && value.toTensor().numel() == 1)
    return value.toTensor().item<int64_t>();
  if (const auto list = type->cast<c10::ListType>()) {
    if (!value.isList()) {
      c10::impl::GenericList one(c10::AnyType::get());
      one.push_back(value);
      return fit_list(one, list->getElementType());
    }
    return fit_list(value, list->getElementType());
  }
  return value;
}

bool draws_numbers(const c10::OperatorHandle& op) {
  return op.hasTag(at::Tag::nondeterministic_seeded) || op.hasTag(at::Tag::nondeterministic_bitwise);
}

bool small(const c10::IValue& value) {
  return value.isTensor() && value.toTensor().defined() && value.toTensor().numel() <= kMostKnown &&
         value.toTensor().device().is_cpu();
}

class GraphRun {
 public:
  GraphRun(const Graph& graph, std::vector<Slot> inputs)
      : graph_(graph), values_(graph), capturing_(detail::capturing()) {
    for (size_t i = 0; i < graph.inputs.size() && i < inputs.size(); ++i)
      values_.set(graph.inputs[i], std::move(inputs[i]));
  }

  std::vector<Slot> run() {
    for (const auto& node : graph_.nodes) {
      run_named(node);
      values_.forget(node.last_uses);
    }
    std::vector<Slot> out;
    for (const auto& output : graph_.outputs) out.push_back(values_.get(output));
    return out;
  }

 private:
  /// Adds the node to errors.
  void run_named(const Node& node) {
    try {
      if (!capturing_ || node.scope.empty() || node.kind == Node::Kind::HigherOrder) return run_node(node);
      const Scope scope(node.scope);
      run_node(node);
    } catch (const Error& error) {
      // A stage that is derived from Error has a meaning of its own.
      if (typeid(error) != typeid(Error) ||
          std::string_view(error.what()).find(" at node ") != std::string_view::npos)
        throw;
      std::string text = error.what();
      text.erase(text.find_last_not_of('.') + 1);
      throw Error(error.code(), "program:" + node.target, "the program cannot go on" + where_in_python(node),
                  text);
    } catch (c10::Error& error) {
      if (error.what_without_backtrace() != nullptr &&
          std::string_view(error.what_without_backtrace()).find(" at node ") == std::string_view::npos)
        error.add_context(fmt::format("in {}{}", node.target, where_in_python(node)));
      throw;
    }
  }

  void run_node(const Node& node) {
    switch (node.kind) {
      case Node::Kind::Number: {
        std::vector<c10::IValue> arguments;
        for (const auto& input : node.inputs) arguments.push_back(values_.get(input.argument).value);
        return bind(node, {{run_number_function(node, arguments), {}}});
      }
      case Node::Kind::HigherOrder:
        return bind(node, run_higher_order(node, values_));
      case Node::Kind::Op:
        return run_op(node);
    }
  }

  void run_op(const Node& node) {
    const auto& name = node.op->operator_name();
    if (name.name.rfind("aten::sym_", 0) == 0 || name.name == "aten::_assert_scalar") {
      if (auto size = size_of(node, name)) return bind(node, std::move(*size));
    }
    if (name.name == "aten::item" || name.name == "aten::_local_scalar_dense") {
      return bind(node, {{read_number(values_.get(node.inputs.at(0).argument)), {}}});
    }
    const auto& arguments = node.op->schema().arguments();
    torch::jit::Stack stack, known;
    bool all_known = capturing_ && !draws_numbers(*node.op);
    bool writes_known = false;
    for (size_t i = 0; i < arguments.size(); ++i) {
      const int input = node.op_arguments[i];
      if (input < 0) {
        stack.push_back(*arguments[i].default_value());
        if (capturing_) known.push_back(stack.back());
        continue;
      }
      const auto& argument = node.inputs[input].argument;
      auto slot = values_.get(argument);
      stack.push_back(fit(slot.value, arguments[i].type()));
      if (!capturing_) continue;
      const auto contents = known_argument(argument, slot);
      all_known = all_known && contents.has_value();
      writes_known =
          writes_known || (arguments[i].alias_info() != nullptr && arguments[i].alias_info()->isWrite());
      known.push_back(contents ? fit(*contents, arguments[i].type()) : c10::IValue());
    }
    node.op->callBoxed(stack);
    std::vector<Slot> results;
    for (auto& result : stack) results.push_back({std::move(result), {}});
    if (capturing_) follow_contents(node, all_known, writes_known, std::move(known), results);
    bind(node, std::move(results));
  }

  /// Computes the contents of results, if they depend on constants only.
  void follow_contents(const Node& node, bool all_known, bool writes, torch::jit::Stack stack,
                       std::vector<Slot>& results) {
    for (const auto& result : results) all_known = all_known && small(result.value);
    if (!all_known) {
      if (writes) values_.forget_contents();  // of what was written, or of a view of it
      return;
    }
    const aten::BelowRecording unrecorded;
    node.op->callBoxed(stack);
    for (size_t i = 0; i < results.size() && i < stack.size(); ++i)
      if (stack[i].isTensor()) results[i].known = stack[i].toTensor();
  }

  /// An argument whose tensors are all known; nothing otherwise.
  std::optional<c10::IValue> known_argument(const Argument& argument, const Slot& slot) const {
    if (argument.kind == Argument::Kind::Value || argument.kind == Argument::Kind::Constant) {
      if (!slot.value.isTensor()) return slot.value;
      return slot.known.defined() ? std::optional<c10::IValue>(slot.known) : std::nullopt;
    }
    if (argument.kind == Argument::Kind::Numbers) return slot.value;
    if (argument.kind != Argument::Kind::Tensors) return {};
    c10::List<at::Tensor> list;
    for (const auto& element : values_.get_list(argument)) {
      if (!element.known.defined()) return {};
      list.push_back(element.known);
    }
    return c10::IValue(list);
  }

  /// Sizes of tensors as numbers, and assertions about them; nothing for another op.
  std::optional<std::vector<Slot>> size_of(const Node& node, const c10::OperatorName& name) const {
    const auto first = values_.get(node.inputs.at(0).argument).value;
    const auto number = [](int64_t value) { return std::vector<Slot>{{c10::IValue(value), {}}}; };
    const auto argument = [&](const char* wanted) -> c10::IValue {
      for (const auto& input : node.inputs)
        if (input.name == wanted) return values_.get(input.argument).value;
      return {};
    };
    if (name.name == "aten::sym_size" && name.overload_name == "int")
      return number(first.toTensor().size(argument("dim").toInt()));
    if (name.name == "aten::sym_stride" && name.overload_name == "int")
      return number(first.toTensor().stride(argument("dim").toInt()));
    if (name.name == "aten::sym_numel") return number(first.toTensor().numel());
    if (name.name == "aten::sym_storage_offset") return number(first.toTensor().storage_offset());
    if (name.name == "aten::_assert_scalar") {
      if (first.toScalar().toDouble() == 0)
        refuse_value(
            node,
            argument("assert_msg").isString() ? argument("assert_msg").toStringRef() : "an assertion fails",
            "Pass inputs of sizes that the program was exported for");
      return std::vector<Slot>{};
    }
    if (name.name.rfind("aten::sym_constrain_range", 0) == 0) {
      const auto value = first.toScalar().toDouble();
      const auto low = argument("min"), high = argument("max");
      if ((low.isInt() && value < static_cast<double>(low.toInt())) ||
          (high.isInt() && value > static_cast<double>(high.toInt())))
        refuse_value(node, fmt::format("a number is {}, outside of its range", value),
                     "Pass inputs that the program was exported for");
      return std::vector<Slot>{};
    }
    return {};
  }

  void bind(const Node& node, std::vector<Slot> results) {
    const auto& outputs = node.outputs;
    if (outputs.size() == 1 && outputs[0].list && node.kind == Node::Kind::HigherOrder) {
      require(node, results.size() == outputs[0].values.size());
      for (size_t i = 0; i < results.size(); ++i) values_.set(outputs[0].values[i], std::move(results[i]));
      return;
    }
    require(node, results.size() >= outputs.size());
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!outputs[i].list) {
        if (!outputs[i].values.empty()) values_.set(outputs[i].values[0], std::move(results[i]));
        continue;
      }
      require(node, results[i].value.isList());
      const auto elements = results[i].value.toListRef();
      require(node, elements.size() == outputs[i].values.size());
      for (size_t k = 0; k < elements.size(); ++k) values_.set(outputs[i].values[k], {elements[k], {}});
    }
  }

  static void require(const Node& node, bool fits) {
    if (!fits)
      refuse_value(node, "the node gives another number of results than the program expects",
                   "A size that was fixed at export has changed: export it with dynamic_shapes");
  }

  const Graph& graph_;
  Values values_;
  bool capturing_;
};

}  // namespace

const Slot& Values::slot(const Element& element) const { return slots_[element.value]; }

void Values::forget_contents() {
  for (auto& slot : slots_) slot.known = at::Tensor();
}

Slot Values::get(const Argument& argument) const {
  switch (argument.kind) {
    case Argument::Kind::Constant:
      return {argument.one.constant, {}};
    case Argument::Kind::Value:
      return slot(argument.one);
    case Argument::Kind::Tensors: {
      c10::List<at::Tensor> list;
      for (const auto& element : argument.elements) list.push_back(slot(element).value.toTensor());
      return {list, {}};
    }
    case Argument::Kind::MaybeTensors: {
      c10::List<std::optional<at::Tensor>> list;
      for (const auto& element : argument.elements) {
        if (element.value == kNoValue || slot(element).value.isNone())
          list.push_back(std::nullopt);
        else
          list.push_back(slot(element).value.toTensor());
      }
      return {list, {}};
    }
    case Argument::Kind::Numbers: {
      c10::impl::GenericList list(c10::AnyType::get());
      for (const auto& element : argument.elements)
        list.push_back(element.value == kNoValue ? element.constant : slot(element).value);
      return {list, {}};
    }
    case Argument::Kind::NestedTensors: {
      c10::List<c10::List<at::Tensor>> lists;
      for (const auto& inner : argument.lists) {
        c10::List<at::Tensor> list;
        for (const auto& element : inner) list.push_back(slot(element).value.toTensor());
        lists.push_back(list);
      }
      return {lists, {}};
    }
    case Argument::Kind::Graph:
      return {};
  }
  return {};
}

std::vector<Slot> Values::get_list(const Argument& argument) const {
  if (argument.kind == Argument::Kind::Constant || argument.kind == Argument::Kind::Value)
    return {get(argument)};
  std::vector<Slot> out;
  for (const auto& element : argument.elements)
    out.push_back(element.value == kNoValue ? Slot{element.constant, {}} : slot(element));
  return out;
}

at::Scalar read_number(const Slot& slot) {
  if (!slot.known.defined()) return slot.value.toTensor().item();
  const aten::BelowRecording unrecorded;
  return slot.known.item();
}

std::vector<Slot> run_graph(const Graph& graph, std::vector<Slot> inputs) {
  return GraphRun(graph, std::move(inputs)).run();
}

}  // namespace antegrad::program
