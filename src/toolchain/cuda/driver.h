#pragma once
// The functions of libcuda.so.1 that are used, declared here so that neither CUDA's headers nor its libraries
// are needed to build. The library is opened when it is first needed, and never closed.
#include <cstddef>
#include <string>

#include "schedule/device_facts.h"

namespace antegrad::toolchain::cuda {

using Result = int;  ///< CUresult; 0 is success
using Device = int;
using Stream = struct StreamTag*;
using Context = struct ContextTag*;
using LibraryHandle = struct LibraryTag*;
using KernelHandle = struct KernelTag*;
using FunctionHandle = struct FunctionTag*;
using DevicePointer = unsigned long long;

struct Driver {
  std::string problem;  ///< why there is no driver; empty when all functions below are set
  int version = 0;      ///< 13000 for CUDA 13.0

  Result (*get_error_name)(Result, const char**) = nullptr;
  Result (*get_error_string)(Result, const char**) = nullptr;
  Result (*device_get_count)(int*) = nullptr;
  Result (*device_get_name)(char*, int, Device) = nullptr;
  Result (*device_get_attribute)(int*, int, Device) = nullptr;
  Result (*context_get_current)(Context*) = nullptr;
  Result (*context_set_current)(Context) = nullptr;
  Result (*primary_context_retain)(Context*, Device) = nullptr;
  Result (*library_load_data)(LibraryHandle*, const void*, int*, void**, unsigned, int*, void**,
                              unsigned) = nullptr;
  Result (*library_get_kernel)(KernelHandle*, LibraryHandle, const char*) = nullptr;
  Result (*kernel_get_function)(FunctionHandle*, KernelHandle) = nullptr;
  Result (*kernel_get_attribute)(int*, int, KernelHandle, Device) = nullptr;
  Result (*kernel_set_attribute)(int, int, KernelHandle, Device) = nullptr;
  Result (*launch_kernel)(FunctionHandle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                          unsigned, Stream, void**, void**) = nullptr;
  Result (*stream_synchronize)(Stream) = nullptr;
  Result (*memset_async)(DevicePointer, unsigned char, size_t, Stream) = nullptr;
  Result (*host_alloc)(void**, size_t, unsigned) = nullptr;
  Result (*host_get_device_pointer)(DevicePointer*, void*, unsigned) = nullptr;
};

/// Opens and initialises the driver on the first call. Thread-safe.
const Driver& driver();
/// Returns the driver's name and description of a result: "CUDA_ERROR_OUT_OF_MEMORY (out of memory)".
std::string error_text(Result result);
/// Throws Error(Internal) unless the result is success. `doing`: "launching kernel k0_add".
void check(Result result, const std::string& doing);

/// Returns the number of devices; 0 without a driver.
int device_count();
std::string device_name(Device device);
/// Throws Error(Internal) without a driver.
schedule::DeviceFacts device_facts(Device device);

/// Makes the device's primary context, the one that LibTorch uses, current in this thread unless a context
/// is.
void ensure_context(Device device);

}  // namespace antegrad::toolchain::cuda
