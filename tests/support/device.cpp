#include "support/device.h"

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <c10/util/StringUtil.h>
#include <dlfcn.h>

#include <cerrno>
#include <cstdlib>
#include <string_view>

namespace antegrad::test {
namespace {

thread_local int on_cpu = 0;  ///< how many OnCpu live

bool wants_cuda() {
  static const bool wanted = [] {
    const char* name = std::getenv("ANTEGRAD_TEST_DEVICE");
    return name != nullptr && std::string_view(name) == "cuda";
  }();
  return wanted;
}

/// Opens LibTorch's CUDA library, which nothing links to; it registers itself. That must happen before
/// anything asks LibTorch whether there is a device, because it remembers the answer. Returns what went
/// wrong.
const std::string& open_cuda() {
  static const auto& problem = *new const std::string([]() -> std::string {
    const bool needed = wants_cuda() || std::string_view(program_invocation_short_name).starts_with("cuda_");
    if (!needed) return "not opened by this test";
    if (dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_GLOBAL) == nullptr) return dlerror();
    return {};
  }());
  return problem;
}
[[maybe_unused]] const std::string& kOpenedBeforeMain = open_cuda();

}  // namespace

std::string missing_cuda() {
  if (!open_cuda().empty()) return c10::str("missing: a CUDA device (", open_cuda(), ")");
  if (!at::hasCUDA()) return "missing: a CUDA device (LibTorch has no CUDA)";
  return at::getNumGPUs() > 0 ? "" : "missing: a CUDA device (LibTorch finds none)";
}

at::Device device() { return wants_cuda() && on_cpu == 0 ? at::Device(at::kCUDA, 0) : at::Device(at::kCPU); }

std::string missing_device() { return wants_cuda() ? missing_cuda() : ""; }

OnCpu::OnCpu() { ++on_cpu; }
OnCpu::~OnCpu() { --on_cpu; }

at::Tensor on_device(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.device() == device()) return tensor;
  const auto plain = tensor.detach();
  const auto count = static_cast<int64_t>(plain.storage().nbytes()) / plain.element_size();
  const auto whole = at::empty({0}, plain.options()).set_(plain.storage(), 0, {count}, {1});
  return whole.to(device()).as_strided(plain.sizes(), plain.strides(), plain.storage_offset());
}

}  // namespace antegrad::test
