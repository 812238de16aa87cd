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
/// were. A variable that a function gets a module from cannot be seen; but when another module is assigned to
/// it, the old one loses an owner.
class ModuleState {
 public:
  explicit ModuleState(const std::vector<std::shared_ptr<torch::nn::Module>>& roots);

  /// Empty: nothing changed since. Else what did, e.g. "module 'layer1': training was true and is false".
  std::string difference() const;
  /// The same, but for owners that modules have lost.
  std::string difference_of_contents() const;

  bool dead() const;  ///< a submodule is gone
  /// Whether this module has lost an owner since; null: any of them.
  bool lost_owner(const torch::nn::Module* module) const;

  /// "layer1.weight" for a parameter or buffer of the modules, "" for any other tensor.
  std::string name_of(const at::Tensor& tensor) const;

 private:
  struct Entry {
    std::weak_ptr<torch::nn::Module> module;
    std::string path;
    bool training = false;
    long owners = 0;
    std::vector<const torch::nn::Module*> children;
    std::vector<const c10::TensorImpl*> tensors;  ///< parameters, then buffers
  };
  void add(const std::shared_ptr<torch::nn::Module>& module, const std::string& path);
  static std::string say(const Entry& entry, const std::string& what);

  std::vector<Entry> entries_;
  std::unordered_map<const c10::TensorImpl*, std::string> names_;
};

}  // namespace antegrad::compiler
