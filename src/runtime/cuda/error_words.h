#pragma once
#include <cstdint>
#include <string>

#include "toolchain/cuda/driver.h"

namespace antegrad::runtime::cuda {

/// A word of host memory that kernels can write to: other than 0 after a kernel has found an index that is
/// out of range. Kernels run later than the call that launches them, so the error is thrown by
/// check_errors().
class ErrorWord {
 public:
  /// `what`: the kernel and its ops, for the error. A context must be current.
  explicit ErrorWord(std::string what);
  ~ErrorWord();
  ErrorWord(const ErrorWord&) = delete;
  ErrorWord& operator=(const ErrorWord&) = delete;

  toolchain::cuda::DevicePointer device() const;

 private:
  size_t index_;
};

/// Throws Error(InvalidArgument) if a kernel that has run by now found an index out of range, once for each
/// such kernel. Costs nanoseconds when there is none.
void check_errors();

}  // namespace antegrad::runtime::cuda
