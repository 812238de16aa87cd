#pragma once
#include <memory>
#include <string>

#include "cache/format/hash.h"
#include "compiler/cache/kernel_cache.h"
#include "package/archive.h"

// Packages as C: the kernels of a package can be compiled by any C compiler, to a library that
// PackageLoad::kernel_library names.
namespace antegrad::packaging {

/// Writes the C text of all kernels of a package to a folder, with a CMakeLists.txt. Throws Error(Io), and
/// Error(InvalidArgument) for a package whose kernels this antegrad would print differently.
void write_sources(const Archive& archive, const std::string& folder);

/// A library that was built of such a folder.
class KernelLibrary {
 public:
  explicit KernelLibrary(std::string path);  ///< throws Error(Io)

  const std::string& path() const { return path_; }
  bool has(const cache::Digest& kernel) const { return find(kernel) != nullptr; }
  /// Returns the code of a kernel that it has.
  compiler::LoadedKernel kernel(const cache::Digest& kernel) const;

 private:
  void* find(const cache::Digest& kernel) const;

  const std::string path_;
  std::shared_ptr<void> handle_;
};

}  // namespace antegrad::packaging
