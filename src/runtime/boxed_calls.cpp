#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <algorithm>

#include "antegrad/error.h"
#include "aten/convert.h"
#include "aten/generators.h"
#include "runtime/instructions.h"

namespace antegrad::runtime {
namespace {

using aten::ArgKind;

/// Where registers go in the prepared stack.
struct TensorArgument {
  size_t position = 0;
  std::vector<int32_t> registers;  ///< -1 for undefined or none
  ArgKind kind = ArgKind::Tensor;
};

class BoxedCall final : public Instruction {
 public:
  BoxedCall(const ir::Node& node, const aten::OpSchema& schema, const RegisterMap& register_of)
      : handle_(schema.handle), return_is_arg_(schema.return_is_arg), functional_(node.functional) {
    // Tensors are inserted at each run; the rest of the stack is prepared once.
    stack_ = aten::boxed_arguments(node, schema, [](ir::ValueId) { return at::Tensor(); });
    for (size_t i = 0; i < schema.args.size(); ++i) {
      const ir::Arg* given = i < node.args.size() ? &node.args[i] : nullptr;
      for (const auto& attr : node.attrs)
        if (attr.name == schema.args[i].name) given = &attr.value;
      if (given != nullptr) add_argument(i, *given, schema.args[i].kind, register_of);
    }
    for (auto value : node.outputs) outputs_.push_back(register_of[value]);
    if (functional_)
      for (auto value : node.effects.writes) written_.push_back(register_of[value]);
  }

  void run(Registers& registers) const override {
    auto stack = stack_;
    std::vector<at::Tensor> copies;
    for (auto slot : written_) copies.push_back(clone_with_strides(registers[slot]));
    auto tensor = [&](int32_t slot) -> at::Tensor {
      if (slot < 0) return {};
      for (size_t i = 0; i < written_.size(); ++i)
        if (written_[i] == slot) return copies[i];
      return registers[slot];
    };
    for (const auto& argument : tensors_) stack[argument.position] = boxed(argument, tensor);
    at::Generator generator;
    if (generator_) {
      generator = aten::generator_in(tensor(generator_->registers[0]));
      stack[generator_->position] = generator;
    }
    handle_.callBoxed(stack);
    size_t next = 0;
    for (size_t i = 0; i < stack.size(); ++i) {
      if (return_is_arg_[i] >= 0) continue;
      if (stack[i].isTensor())
        registers[outputs_[next++]] = std::move(stack[i]).toTensor();
      else if (stack[i].isTensorList())
        for (at::Tensor& result : stack[i].toTensorVector()) registers[outputs_[next++]] = std::move(result);
    }
    for (size_t i = 0; i < copies.size(); ++i) {
      const bool is_state = generator_ && generator_->registers[0] == written_[i];
      registers[outputs_[next++]] = is_state ? aten::state_of_locked(generator) : std::move(copies[i]);
    }
  }

 private:
  void add_argument(size_t position, const ir::Arg& arg, ArgKind kind, const RegisterMap& register_of) {
    if (kind == ArgKind::Generator && arg.as<ir::ValueId>() != nullptr)
      generator_ = TensorArgument{position, {register_of[*arg.as<ir::ValueId>()]}, kind};
    if (kind != ArgKind::Tensor && kind != ArgKind::TensorList && kind != ArgKind::OptionalTensorList) return;
    if (kind == ArgKind::Tensor && arg.as<ir::ValueId>() == nullptr) return;
    if (kind != ArgKind::Tensor && arg.as<ir::Arg::List>() == nullptr) return;
    TensorArgument argument{position, {}, kind};
    auto add = [&](const ir::Arg& a) {
      const auto* value = a.as<ir::ValueId>();
      argument.registers.push_back(value != nullptr ? register_of[*value] : -1);
    };
    if (kind == ArgKind::Tensor)
      add(arg);
    else
      for (const auto& element : *arg.as<ir::Arg::List>()) add(element);
    tensors_.push_back(std::move(argument));
  }

  static c10::IValue boxed(const TensorArgument& argument, auto&& tensor) {
    if (argument.kind == ArgKind::Tensor) return tensor(argument.registers[0]);
    if (argument.kind == ArgKind::TensorList) {
      c10::List<at::Tensor> list;
      for (auto slot : argument.registers) list.push_back(tensor(slot));
      return list;
    }
    c10::List<std::optional<at::Tensor>> list;
    for (auto slot : argument.registers)
      list.push_back(slot < 0 ? std::optional<at::Tensor>() : tensor(slot));
    return list;
  }

  c10::OperatorHandle handle_;
  std::vector<int> return_is_arg_;
  bool functional_;
  std::vector<c10::IValue> stack_;
  std::vector<TensorArgument> tensors_;
  std::optional<TensorArgument> generator_;  ///< a tensor that is the state of a generator
  std::vector<int32_t> outputs_;
  std::vector<int32_t> written_;
};

/// oneDNN's recurrent layers keep a workspace for their backward pass in grad mode only. Returns whether the
/// node is one whose workspace is read.
bool keeps_workspace(const ir::Node& node, const ir::Graph& graph) {
  if (node.op != "aten.mkldnn_rnn_layer") return false;
  const auto workspace = node.outputs.back();
  bool is_read = std::ranges::any_of(graph.outputs, [&](const auto& o) { return o.value == workspace; });
  for (const auto& other : graph.nodes)
    ir::for_each_input(other, [&](ir::ValueId v) { is_read = is_read || v == workspace; });
  return is_read;
}

class CallInGradMode final : public Instruction {
 public:
  explicit CallInGradMode(std::unique_ptr<Instruction> call) : call_(std::move(call)) {}
  void run(Registers& registers) const override {
    const c10::AutoGradMode grad_mode(true);
    call_->run(registers);
  }

 private:
  std::unique_ptr<Instruction> call_;
};

}  // namespace

std::unique_ptr<Instruction> make_boxed_call(const ir::Node& node, const aten::OpSchema& schema,
                                             const RegisterMap& register_of) {
  return std::make_unique<BoxedCall>(node, schema, register_of);
}

const aten::OpSchema* in_place_of(std::string_view op) {
  std::string name(op);
  const auto name_end = name.find('.', name.find('.') + 1);
  name.insert(name_end == std::string::npos ? name.size() : name_end, "_");
  return aten::find_schema(name);
}

bool is_owned(const at::Tensor& tensor) {
  return tensor.use_count() == 1 && tensor.storage().use_count() == 1 && !tensor.is_neg() &&
         !tensor._is_zerotensor() && tensor.storage_offset() == 0 &&
         tensor.nbytes() == tensor.storage().nbytes();
}

static std::unique_ptr<Instruction> make_plain_instruction(const ir::Node& node, const ir::Graph& graph,
                                                           const RegisterMap& register_of, bool reuse) {
  if (auto random = make_random_call(node, graph, register_of)) return random;
  if (auto own = make_own_call(node, graph, register_of)) return own;
  const auto* schema = aten::find_schema(node.op);
  if (schema == nullptr)
    throw Error(ErrorCode::UnsupportedOp, "run:" + node.op, "LibTorch has no such op",
                "Load the library that registers it before the graph is used");
  if (schema->foreign) return make_foreign_call(node, *schema, graph, register_of);
  if (auto number = make_number_call(node, *schema, register_of, reuse)) return number;
  if (!node.functional)
    if (auto typed = make_typed_call(node, *schema, register_of, reuse))
      return make_view_call(node, graph, register_of, std::move(typed));
  return make_boxed_call(node, *schema, register_of);
}

std::unique_ptr<Instruction> make_instruction(const ir::Node& node, const ir::Graph& graph,
                                              const RegisterMap& register_of, bool reuse) {
  auto call = make_plain_instruction(node, graph, register_of, reuse);
  if (!keeps_workspace(node, graph)) return call;
  return std::make_unique<CallInGradMode>(std::move(call));
}

}  // namespace antegrad::runtime
