#include "toolchain/cuda/driver.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include "antegrad/error.h"
#include "toolchain/cuda/library.h"

namespace antegrad::toolchain::cuda {
namespace {

constexpr const char* kLibrary = "libcuda.so.1";

// CUdevice_attribute
constexpr int kMultiprocessors = 16, kL2Bytes = 38, kThreadsPerMultiprocessor = 39, kMajor = 75, kMinor = 76,
              kSharedPerBlockOptIn = 97;

Driver open_driver() {
  Driver out;
  void* handle = dlopen(kLibrary, RTLD_LAZY | RTLD_LOCAL);
  if (handle == nullptr) {
    out.problem = dlerror();
    return out;
  }
  Symbols symbols(handle, kLibrary);
  Result (*init)(unsigned) = nullptr;
  Result (*get_version)(int*) = nullptr;
  symbols.find(init, "cuInit");
  symbols.find(get_version, "cuDriverGetVersion");
  symbols.find(out.get_error_name, "cuGetErrorName");
  symbols.find(out.get_error_string, "cuGetErrorString");
  symbols.find(out.device_get_count, "cuDeviceGetCount");
  symbols.find(out.device_get_name, "cuDeviceGetName");
  symbols.find(out.device_get_attribute, "cuDeviceGetAttribute");
  symbols.find(out.context_get_current, "cuCtxGetCurrent");
  symbols.find(out.context_set_current, "cuCtxSetCurrent");
  symbols.find(out.primary_context_retain, "cuDevicePrimaryCtxRetain");
  symbols.find(out.library_load_data, "cuLibraryLoadData");
  symbols.find(out.library_get_kernel, "cuLibraryGetKernel");
  symbols.find(out.kernel_get_function, "cuKernelGetFunction");
  symbols.find(out.kernel_get_attribute, "cuKernelGetAttribute");
  symbols.find(out.kernel_set_attribute, "cuKernelSetAttribute");
  symbols.find(out.launch_kernel, "cuLaunchKernel");
  symbols.find(out.stream_synchronize, "cuStreamSynchronize");
  symbols.find(out.memset_async, "cuMemsetD8Async");
  symbols.find(out.host_alloc, "cuMemHostAlloc");
  symbols.find(out.host_get_device_pointer, "cuMemHostGetDevicePointer_v2");
  out.problem = symbols.problem();
  if (!out.problem.empty()) return out;
  if (const auto result = init(0); result != 0) {
    const char* name = nullptr;
    out.get_error_name(result, &name);
    out.problem = fmt::format("cuInit fails with {}", name != nullptr ? name : "an unknown error");
    return out;
  }
  get_version(&out.version);
  return out;
}

int attribute(Device device, int which) {
  int value = 0;
  check(driver().device_get_attribute(&value, which, device), "asking for an attribute of the device");
  return value;
}

}  // namespace

const Driver& driver() {
  static const auto& opened = *new const Driver(open_driver());
  return opened;
}

std::string error_text(Result result) {
  const char *name = nullptr, *text = nullptr;
  driver().get_error_name(result, &name);
  driver().get_error_string(result, &text);
  return fmt::format("{} ({})", name != nullptr ? name : fmt::format("error {}", result),
                     text != nullptr ? text : "unknown");
}

void check(Result result, const std::string& doing) {
  if (result == 0) return;
  throw Error(
      ErrorCode::Internal, "cuda", fmt::format("{} fails with {}", doing, error_text(result)),
      "The error may be that of an earlier kernel, reported late: ANTEGRAD_CUDA_SYNC=1 waits for each "
      "kernel and names the one that fails");
}

int device_count() {
  int count = 0;
  if (!driver().problem.empty() || driver().device_get_count(&count) != 0) return 0;
  return count;
}

std::string device_name(Device device) {
  char name[256] = "";
  check(driver().device_get_name(name, sizeof name, device), "asking for the name of the device");
  return name;
}

schedule::DeviceFacts device_facts(Device device) {
  if (!driver().problem.empty())
    throw Error(ErrorCode::Internal, "cuda", "there is no CUDA driver: " + driver().problem);
  schedule::DeviceFacts facts;
  facts.capability = attribute(device, kMajor) * 10 + attribute(device, kMinor);
  facts.multiprocessors = attribute(device, kMultiprocessors);
  facts.threads_per_multiprocessor = attribute(device, kThreadsPerMultiprocessor);
  facts.shared_per_block = attribute(device, kSharedPerBlockOptIn);
  facts.l2_bytes = attribute(device, kL2Bytes);
  return facts;
}

void ensure_context(Device device) {
  Context current = nullptr;
  check(driver().context_get_current(&current), "asking for the current context");
  if (current != nullptr) return;
  // Never released: LibTorch holds it until the process ends.
  check(driver().primary_context_retain(&current, device), "retaining the primary context");
  check(driver().context_set_current(current), "making the primary context current");
}

}  // namespace antegrad::toolchain::cuda
