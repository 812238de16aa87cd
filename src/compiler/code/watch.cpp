#include "compiler/code/watch.h"

#include <fmt/format.h>

#include "aten/module_members.h"

namespace antegrad::compiler {
namespace {

std::string joined(const std::string& path, const std::string& name) {
  return path.empty() ? name : path + "." + name;
}

}  // namespace

ModuleState::ModuleState(const std::vector<std::shared_ptr<torch::nn::Module>>& roots) {
  for (const auto& root : roots)
    if (root) add(root, "");
  for (auto& entry : entries_) entry.owners = entry.module.use_count();
}

void ModuleState::add(const std::shared_ptr<torch::nn::Module>& module, const std::string& path) {
  Entry entry;
  entry.module = module;
  entry.path = path;
  entry.training = module->is_training();
  for (const auto* tensors : {&aten::parameters_of(*module), &aten::buffers_of(*module)}) {
    for (const auto& item : tensors->items()) {
      entry.tensors.push_back(item.value().unsafeGetTensorImpl());
      if (item.value().defined())
        names_.try_emplace(item.value().unsafeGetTensorImpl(), joined(path, item.key()));
    }
  }
  std::vector<std::pair<std::string, std::shared_ptr<torch::nn::Module>>> children;
  for (const auto& item : aten::children_of(*module).items()) {
    entry.children.push_back(item.value().get());
    if (item.value()) children.emplace_back(joined(path, item.key()), item.value());
  }
  entries_.push_back(std::move(entry));
  for (const auto& [child_path, child] : children) add(child, child_path);
}

std::string ModuleState::say(const Entry& entry, const std::string& what) {
  return fmt::format("module '{}': {}", entry.path.empty() ? "<root>" : entry.path, what);
}

std::string ModuleState::difference() const {
  for (const auto& entry : entries_)
    if (entry.module.use_count() < entry.owners) {
      auto what = difference_of_contents();
      return what.empty() ? say(entry, "it has fewer owners than before: it may have been replaced") : what;
    }
  return difference_of_contents();
}

bool ModuleState::lost_owner(const torch::nn::Module& module) const {
  return std::any_of(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.module.use_count() < entry.owners && entry.module.lock().get() == &module;
  });
}

std::string ModuleState::difference_of_contents() const {
  for (const auto& entry : entries_) {
    const auto alive = entry.module.lock();
    if (alive == nullptr) return say(entry, "it no longer exists");
    const auto& module = *alive;
    if (module.is_training() != entry.training)
      return say(entry, fmt::format("training was {} and is {}", entry.training, module.is_training()));
    const auto& parameters = aten::parameters_of(module).items();
    const auto& buffers = aten::buffers_of(module).items();
    const auto& children = aten::children_of(module).items();
    if (parameters.size() + buffers.size() != entry.tensors.size() ||
        children.size() != entry.children.size())
      return say(entry, "a parameter, buffer or submodule was added or removed");
    size_t i = 0;
    for (const auto* tensors : {&parameters, &buffers})
      for (const auto& item : *tensors)
        if (item.value().unsafeGetTensorImpl() != entry.tensors[i++])
          return say(entry, fmt::format("'{}' is another tensor", item.key()));
    for (size_t k = 0; k < children.size(); ++k)
      if (children[k].value().get() != entry.children[k])
        return say(entry, fmt::format("submodule '{}' is another one", children[k].key()));
  }
  return {};
}

bool ModuleState::dead() const {
  return std::any_of(entries_.begin(), entries_.end(),
                     [](const Entry& entry) { return entry.module.expired(); });
}

std::string ModuleState::name_of(const at::Tensor& tensor) const {
  auto found = names_.find(tensor.unsafeGetTensorImpl());
  return found == names_.end() ? std::string() : found->second;
}

}  // namespace antegrad::compiler
