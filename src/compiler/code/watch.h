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

/// A snapshot of the training flags and the identity of every submodule, parameter and buffer of some
/// modules. The variable through which a function reaches a module cannot be observed; but assigning another
/// module to it makes the old one lose an owner, so use counts are recorded too.
class ModuleState {
 public:
  explicit ModuleState(const std::vector<std::shared_ptr<torch::nn::Module>>& roots);

  /// Returns what changed since, e.g. "module 'layer1': training was true and is false"; empty when nothing
  /// did.
  std::string difference() const;
  /// Like difference(), but ignores use counts.
  std::string difference_of_contents() const;

  bool dead() const;  ///< whether a submodule no longer exists
  /// Whether this module has lost an owner since.
  bool lost_owner(const torch::nn::Module& module) const;

  /// Returns the name of a parameter or buffer of the modules, such as "layer1.weight"; "" for any other
  /// tensor.
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
