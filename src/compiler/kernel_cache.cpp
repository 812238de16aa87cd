#include "compiler/kernel_cache.h"

#include <fmt/format.h>

#include <mutex>
#include <unordered_map>

#include "antegrad/error.h"
#include "codegen/cpu/kernel_source.h"
#include "toolchain/module.h"

namespace antegrad::compiler {
namespace {

/// Above so many, kernels that no function uses any more are forgotten.
constexpr size_t kMaxKernels = 4096;

/// Equal for kernels that are equal but for names and comments.
std::string key_of(schedule::Kernel kernel, const std::string& target) {
  kernel.name = "kernel";
  kernel.text.clear();
  for (auto& section : kernel.sections)
    for (auto& op : section.ops) op.comment.clear();
  return target + codegen::cpu::kernel_source(kernel);
}

class Cache {
 public:
  runtime::KernelCode find(const std::string& key) {
    std::scoped_lock lock(mutex_);
    const auto found = kernels_.find(key);
    if (found == kernels_.end()) return {};
    ++counts_.found;
    return found->second;
  }

  void add(const std::string& key, const runtime::KernelCode& code) {
    std::scoped_lock lock(mutex_);
    ++counts_.compiled;
    if (kernels_.size() >= kMaxKernels)
      std::erase_if(kernels_, [](const auto& entry) { return entry.second.keep.use_count() == 1; });
    kernels_.insert_or_assign(key, code);
  }

  KernelCounts counts() {
    std::scoped_lock lock(mutex_);
    return counts_;
  }

  static Cache& instance() {
    static Cache cache;
    return cache;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<std::string, runtime::KernelCode> kernels_;
  KernelCounts counts_;
};

runtime::KernelCode load(const toolchain::Object& object, const std::string& name) {
  auto module = toolchain::Module::load(object);
  void* function = module->find(name);
  if (function == nullptr)
    throw Error(ErrorCode::Internal, "compile", fmt::format("an object has no function '{}'", name));
  return {reinterpret_cast<runtime::KernelFunction>(function), std::move(module)};
}

}  // namespace

std::vector<runtime::KernelCode> load_kernels(const std::vector<schedule::Kernel>& kernels,
                                              const toolchain::Toolchain& toolchain, toolchain::Isa isa) {
  auto& cache = Cache::instance();
  const auto target = fmt::format("{} {}\n", toolchain.name(), toolchain::isa_name(isa));
  std::vector<runtime::KernelCode> code(kernels.size());
  std::unordered_map<std::string, std::vector<size_t>> missing;
  std::vector<std::string> sources;
  std::vector<const std::string*> keys;
  for (size_t k = 0; k < kernels.size(); ++k) {
    const auto key = key_of(kernels[k], target);
    code[k] = cache.find(key);
    if (code[k].function != nullptr) continue;
    const auto [at, first] = missing.try_emplace(key);
    at->second.push_back(k);
    if (!first) continue;
    keys.push_back(&at->first);
    sources.push_back(codegen::cpu::unit_source({&kernels[k]}));
  }
  if (sources.empty()) return code;
  const auto objects = toolchain::compile_all(toolchain, sources, isa);
  for (size_t i = 0; i < objects.size(); ++i) {
    const auto& users = missing.at(*keys[i]);
    const auto loaded = load(objects[i], kernels[users.front()].name);
    cache.add(*keys[i], loaded);
    for (auto k : users) code[k] = loaded;
  }
  return code;
}

KernelCounts kernel_counts() { return Cache::instance().counts(); }

}  // namespace antegrad::compiler
