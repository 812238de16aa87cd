#pragma once
#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace torch::nn {
class Module;
}

namespace antegrad::compiler {

/// The training flags and the identity of every submodule, parameter and buffer of some modules, as they
/// were.
class ModuleState {
 public:
  explicit ModuleState(const std::vector<std::shared_ptr<torch::nn::Module>>& roots);

  /// Empty: nothing changed since. Else what did, e.g. "module 'layer1': training was true and is false".
  std::string difference() const;

  bool dead() const;  ///< a submodule is gone

  /// "layer1.weight" for a parameter or buffer of the modules, "" for any other tensor.
  std::string name_of(const at::Tensor& tensor) const;

 private:
  struct Entry {
    std::weak_ptr<torch::nn::Module> module;
    std::string path;
    bool training = false;
    std::vector<const torch::nn::Module*> children;
    std::vector<const c10::TensorImpl*> tensors;  ///< parameters, then buffers
  };
  void add(const std::shared_ptr<torch::nn::Module>& module, const std::string& path);

  std::vector<Entry> entries_;
  std::unordered_map<const c10::TensorImpl*, std::string> names_;
};

}  // namespace antegrad::compiler
