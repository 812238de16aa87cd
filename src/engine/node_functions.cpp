#include "engine/node_functions.h"

#include <fmt/format.h>

#include <mutex>
#include <unordered_map>

#include "antegrad/error.h"

namespace antegrad::engine {
namespace {

namespace tda = torch::dynamo::autograd;
using torch::autograd::variable_list;

class NodeFunctions final : public tda::PyCompilerInterface {
 public:
  /// Nodes of LibTorch announce themselves once, by name; custom functions each time.
  std::string bind_function(PyObject*, const std::string& name, torch::autograd::functional_apply_t fn,
                            std::vector<at::TypePtr>, bool is_custom, bool) const override {
    const std::scoped_lock lock(mutex_);
    auto key = is_custom ? fmt::format("{} {}", name, ++customs_) : name;
    functions_[key] = std::move(fn);
    return key;
  }

  variable_list call_function(PyObject*, const char*, const std::string& name, const variable_list& inputs,
                              const torch::autograd::ivalue_list& arguments,
                              const c10::IValue&) const override {
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

  /// The gradient of a view that was written in place is cut out of the gradient of its base.
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
  mutable std::mutex mutex_;
  mutable std::unordered_map<std::string, torch::autograd::functional_apply_t> functions_;
  mutable uint64_t customs_ = 0;
};

}  // namespace

void install_node_functions() {
  static const auto* installed = new tda::PyCompilerGuard(std::make_unique<NodeFunctions>());
  static_cast<void>(installed);
}

}  // namespace antegrad::engine
