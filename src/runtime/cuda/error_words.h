#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "toolchain/cuda/driver.h"

namespace antegrad::runtime::cuda {

/// A word of host memory that kernels can write to: other than 0 after a kernel has found an index that is
/// out of range. Kernels run later than the call that launches them, so the error is thrown by
/// throw_found_errors().
class ErrorWord {
 public:
  /// `indices`: a text for each index that the kernel checks (codegen::cuda::index_texts()). The device must
  /// be current.
  ErrorWord(toolchain::cuda::Device device, std::vector<std::string> indices);
  ~ErrorWord();
  ErrorWord(const ErrorWord&) = delete;
  ErrorWord& operator=(const ErrorWord&) = delete;

  toolchain::cuda::DevicePointer device() const;

 private:
  size_t index_;
};

/// Throws Error(InvalidArgument) if a kernel that has run by now found an index out of range, once for each
/// such kernel. Costs nanoseconds when there is none.
void throw_found_errors();
/// Returns the devices for which there have been words.
std::vector<toolchain::cuda::Device> devices_with_words();

}  // namespace antegrad::runtime::cuda
