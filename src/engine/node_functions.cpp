#include "engine/node_functions.h"

#include <fmt/format.h>

#include <mutex>
#include <typeindex>
#include <unordered_map>

#include "antegrad/error.h"
#include "aten/autograd_members.h"
#include "aten/autograd_types.h"
#include "util/fork_mutex.h"

namespace antegrad::engine {
namespace {

namespace tda = torch::dynamo::autograd;
using torch::autograd::Node;
using torch::autograd::variable_list;

thread_local bool* asks_traceable = nullptr;  ///< set while asking if a function is traceable

class NodeFunctions final : public tda::PyCompilerInterface {
 public:
  /// Nodes of LibTorch register once, by name; custom functions each time.
  std::string bind_function(PyObject*, const std::string& name, torch::autograd::functional_apply_t fn,
                            std::vector<at::TypePtr>, bool is_custom, bool is_traceable) const override {
    if (asks_traceable != nullptr) {
      *asks_traceable = is_traceable;
      return name;  // nobody will call it
    }
    const std::scoped_lock lock(mutex_);
    auto key = is_custom ? fmt::format("{} {}", name, ++customs_) : name;
    functions_[key] = std::move(fn);
    return key;
  }

  variable_list call_function(PyObject*, const char*, const std::string& name, const variable_list& inputs,
                              const torch::autograd::ivalue_list& arguments,
                              const c10::IValue&) const override {
    if (asks_traceable != nullptr) return {};
    torch::autograd::functional_apply_t function;
    {
      const std::scoped_lock lock(mutex_);
      const auto found = functions_.find(name);
      if (found == functions_.end())
        throw Error(ErrorCode::Internal, "engine", fmt::format("the node function '{}' is not known", name));
      function = found->second;
    }
    return function(inputs, arguments);
  }

  /// Cuts the gradient of a view that was written in place out of the gradient of its base.
  variable_list call_copy_slices_prologue(PyObject*, const variable_list& inputs,
                                          const at::TensorGeometry& base,
                                          const at::TensorGeometry& view) const override {
    const auto result = inputs[0].new_empty_strided_symint(base.sym_sizes(), base.sym_strides());
    result.copy_(inputs[0]);
    const auto offset = view.sym_storage_offset() - base.sym_storage_offset();
    const auto slice = result.as_strided_symint(view.sym_sizes(), view.sym_strides(), offset);
    return {result, slice, slice.clone(at::MemoryFormat::Contiguous)};
  }

  variable_list call_copy_slices_epilogue(PyObject*, const std::vector<bool>& needs_input_grad,
                                          const at::Tensor& result, const variable_list& gradients,
                                          const at::Tensor& slice) const override {
    variable_list out(needs_input_grad.size());
    for (size_t i = 0; i < needs_input_grad.size(); ++i) {
      if (!needs_input_grad[i] || !gradients[i].defined()) continue;
      if (i == 0) slice.copy_(gradients[i]);
      out[i] = i == 0 ? result : gradients[i];
    }
    return out;
  }

 private:
  mutable BriefMutex mutex_;
  mutable std::unordered_map<std::string, torch::autograd::functional_apply_t> functions_;
  mutable uint64_t customs_ = 0;
};

/// Asks the node by having it register itself, which LibTorch offers only as a part of tracing.
bool ask_traceable(Node& node) {
  tda::AutogradCompilerCall compiler(tda::SizeInput::STATIC);
  auto& call = compiler.node_calls.lookup(node.getptr());
  tda::CompiledNodeArgs arguments(compiler, call);
  node.compiled_args(arguments);
  for (const auto& input : compiler.tensor_args.inputs)
    compiler.tensor_args.lookup(input).proxy_tensor = input;
  for (auto& lifted : compiler.lifted_ivalue_args.args) lifted.proxy = *lifted.actual_ptr;
  tda::TraceState state(std::vector<std::optional<c10::SymInt>>(compiler.all_size_inputs.size()), 0);
  tda::SwapSavedVariables swap(compiler, state, nullptr, call);
  bool answer = false;
  asks_traceable = &answer;
  try {
    node.apply_with_saved(variable_list(node.num_inputs()), swap);
  } catch (...) {
    answer = false;
    aten::put_back(swap);
  }
  asks_traceable = nullptr;
  return answer;
}

}  // namespace

bool is_traceable_function(Node& node) {
  if (!aten::is_custom_function(node)) return false;
  static auto& mutex = *new BriefMutex;
  static auto& answers = *new std::unordered_map<std::type_index, bool>;
  const std::scoped_lock lock(mutex);
  const auto [known, added] = answers.try_emplace(typeid(node));
  if (!added) return known->second;
  try {
    known->second = ask_traceable(node);
  } catch (const c10::Error&) {  // it saves what LibTorch cannot trace
  }
  return known->second;
}

void install_node_functions() {
  static const auto* installed = new tda::PyCompilerGuard(std::make_unique<NodeFunctions>());
  static_cast<void>(installed);
}

}  // namespace antegrad::engine
