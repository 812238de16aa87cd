#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ranges>
#include <utility>

#include "antegrad/error.h"
#include "aten/collectives.h"
#include "aten/convert.h"
#include "runtime/instructions.h"

namespace antegrad::runtime {
namespace {

/// A result as captured.
struct Expected {
  Expected(const ir::Graph& graph, ir::ValueId value, int32_t register_index, bool view)
      : slot(register_index), is_view(view) {
    const auto* type = graph.type_of(value).tensor();
    if (type == nullptr) return;
    is_tensor = true;
    options = aten::options_of(*type);
    sizes = aten::constants(type->sizes);
    strides = aten::constants(type->strides);
  }

  bool fits(const at::Tensor& tensor) const {
    return tensor.defined() == is_tensor &&
           (!is_tensor ||
            (tensor.layout() == c10::kStrided && tensor.dtype() == options.dtype() &&
             tensor.device().type() == options.device().type() && tensor.sizes() == at::IntArrayRef(sizes)));
  }

  int32_t slot;
  bool is_view;  ///< the schema says that it may share memory with an argument
  bool is_tensor = false;
  at::TensorOptions options;
  std::vector<int64_t> sizes, strides;
};

std::string text_of(const at::Tensor& tensor) {
  if (!tensor.defined()) return "undefined";
  if (tensor.layout() != c10::kStrided) return "not a dense tensor";
  return fmt::format("{}[{}]", c10::toString(tensor.scalar_type()), fmt::join(tensor.sizes(), ","));
}

std::string text_of(const Expected& expected) {
  if (!expected.is_tensor) return "undefined";
  return fmt::format("{}[{}]", c10::toString(c10::typeMetaToScalarType(expected.options.dtype())),
                     fmt::join(expected.sizes, ","));
}

/// Calls an op of which nothing is known: it may keep its arguments, and its results may differ from what was
/// declared.
class ForeignCall final : public Instruction {
 public:
  ForeignCall(const ir::Node& node, const aten::OpSchema& schema, const ir::Graph& graph,
              const RegisterMap& register_of)
      : op_(node.op), input_(input_of(node)), call_(make_boxed_call(node, schema, register_of)) {
    const auto slot_of = [&](ir::ValueId v) { return register_of[v]; };
    ir::for_each_input(node, [&](ir::ValueId v) {
      if (slot_of(v) >= 0) arguments_.push_back(slot_of(v));
    });
    for (auto v : node.outputs) results_.emplace_back(graph, v, slot_of(v), graph.storage_of(v) != v);
  }

  void run(Registers& registers) const override {
    const auto at = [&](int32_t slot) -> at::Tensor& { return registers[slot]; };
    std::vector<std::pair<int32_t, at::Tensor>> originals;
    for (auto slot : arguments_) {
      if (!at(slot).defined() || !must_copy(at(slot), registers)) continue;
      auto copy = clone_with_strides(at(slot));
      originals.emplace_back(slot, std::exchange(at(slot), std::move(copy)));
    }
    call_->run(registers);
    if (input_ == Input::IsReadLater)
      for (auto& [slot, tensor] : originals | std::views::reverse) at(slot) = std::move(tensor);
    for (size_t i = 0; i < results_.size(); ++i)
      if (results_[i].slot >= 0) settle(i, at(results_[i].slot), registers);
  }

 private:
  /// What the op does with the memory of its arguments.
  enum class Input : uint8_t {
    MayBeKept,    ///< anyone who keeps an argument would see that the arena's memory is soon reused
    IsCopied,     ///< it is not read after the call
    IsReadLater,  ///< a communication reads it until somebody waits for it
  };
  static Input input_of(const ir::Node& node) {
    const auto* collective = aten::find_collective(node.op);
    if (collective == nullptr) return Input::MayBeKept;
    const bool is_read = collective->copies_input || collective->result == aten::Collective::Result::Waited;
    return is_read ? Input::IsCopied : Input::IsReadLater;
  }
  bool must_copy(const at::Tensor& argument, const Registers& registers) const {
    if (input_ != Input::MayBeKept) return input_ == Input::IsReadLater;
    return registers.arena_storage && argument.storage().is_alias_of(registers.arena_storage);
  }

  void settle(size_t i, at::Tensor& result, const Registers& registers) const {
    const auto& expected = results_[i];
    if (!expected.fits(result))
      throw Error(ErrorCode::InvalidArgument, "run:" + op_,
                  fmt::format("result {} is {} where {} was captured", i, text_of(result), text_of(expected)),
                  "Correct the op's Meta kernel, or the function given to register_shape");
    if (!expected.is_tensor || expected.is_view) return;
    bool shared = false;
    for (auto slot : arguments_) {
      const auto& argument = registers[slot];
      shared = shared || (argument.defined() && argument.storage().is_alias_of(result.storage()));
    }
    const bool other_strides = result.numel() > 0 && result.strides() != at::IntArrayRef(expected.strides);
    if (!shared && !other_strides && !result.is_conj() && !result.is_neg()) return;
    result = at::empty_strided(expected.sizes, expected.strides, expected.options).copy_(result);
  }

  std::string op_;
  Input input_;
  std::unique_ptr<Instruction> call_;
  std::vector<int32_t> arguments_;
  std::vector<Expected> results_;
};

}  // namespace

std::unique_ptr<Instruction> make_foreign_call(const ir::Node& node, const aten::OpSchema& schema,
                                               const ir::Graph& graph, const RegisterMap& register_of) {
  return std::make_unique<ForeignCall>(node, schema, graph, register_of);
}

}  // namespace antegrad::runtime
