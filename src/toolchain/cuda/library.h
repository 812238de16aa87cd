#pragma once
#include <string>

namespace antegrad::toolchain::cuda {

/// Looks up functions of an opened library and remembers the first one that is missing.
class Symbols {
 public:
  Symbols(void* handle, std::string library) : handle_(handle), library_(std::move(library)) {}

  template <class Function>
  void find(Function*& function, const char* name) {
    function = reinterpret_cast<Function*>(address(name));
  }
  /// Returns "" when all functions were found.
  const std::string& problem() const { return problem_; }

 private:
  void* address(const char* name);

  void* handle_;
  std::string library_;
  std::string problem_;
};

}  // namespace antegrad::toolchain::cuda
