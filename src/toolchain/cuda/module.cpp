#include "toolchain/cuda/module.h"

#include <fmt/format.h>

#include <algorithm>

#include "toolchain/cuda/cubin.h"
#include "toolchain/elf_file.h"

namespace antegrad::toolchain::cuda {
namespace {

// CUfunction_attribute
constexpr int kLocalBytes = 3, kRegisters = 4, kMostDynamicShared = 8;

/// More than this must be asked for.
constexpr int64_t kSharedWithoutAsking = 48 * 1024;

void check_load(Result result, const char* doing) {
  if (result != 0) fail_load(fmt::format("{} fails with {}", doing, error_text(result)));
}

}  // namespace

std::shared_ptr<const Module> Module::load(const Object& cubin, const std::string& kernel) {
  const auto names = functions_of_cubin(cubin.bytes);
  if (std::find(names.begin(), names.end(), kernel) == names.end())
    fail_load(fmt::format("it has no kernel '{}'", kernel));
  const auto& api = driver();
  if (!api.problem.empty()) fail_load("there is no CUDA driver: " + api.problem);
  LibraryHandle library = nullptr;
  check_load(api.library_load_data(&library, cubin.bytes.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
             "cuLibraryLoadData");
  std::shared_ptr<Module> module(new Module);
  check_load(api.library_get_kernel(&module->kernel_, library, kernel.c_str()), "cuLibraryGetKernel");
  return module;
}

void Module::prepare(Device device, int64_t shared_bytes) const {
  FunctionHandle function = nullptr;
  check(driver().kernel_get_function(&function, kernel_), "loading a kernel");
  if (shared_bytes <= kSharedWithoutAsking) return;
  // Functions share modules, and another one may need more.
  int allowed = 0;
  check(driver().kernel_get_attribute(&allowed, kMostDynamicShared, kernel_, device),
        "asking how much shared memory is allowed");
  if (allowed < shared_bytes)
    check(driver().kernel_set_attribute(kMostDynamicShared, static_cast<int>(shared_bytes), kernel_, device),
          "asking for shared memory");
}

KernelFacts kernel_facts(const Module& module, Device device) {
  KernelFacts facts;
  check(driver().kernel_get_attribute(&facts.registers, kRegisters, module.kernel(), device),
        "asking for the registers of a kernel");
  check(driver().kernel_get_attribute(&facts.local_bytes, kLocalBytes, module.kernel(), device),
        "asking for the local memory of a kernel");
  return facts;
}

}  // namespace antegrad::toolchain::cuda
