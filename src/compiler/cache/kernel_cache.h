#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cache/format/hash.h"
#include "compiler/cache/caches.h"
#include "runtime/executable.h"
#include "schedule/kernel.h"
#include "toolchain/toolchain.h"

namespace antegrad::compiler {

/// A kernel that can be found again: by what it was made of, and checked by what it is.
struct KernelReference {
  cache::Digest key;     ///< of source, compiler, instruction set
  cache::Digest object;  ///< SHA-256 of the object file
  auto operator<=>(const KernelReference&) const = default;
};

struct LoadedKernel {
  KernelReference reference;
  runtime::KernelCode code;
  std::shared_ptr<const std::string> object;  ///< the file, for caches that do not have it
};

/// What kernels are made with, and where they are kept.
struct KernelTarget {
  std::string toolchain;  ///< its name
  toolchain::Isa isa;
  std::function<const toolchain::Toolchain&()> compiler;  ///< opened when something must be compiled
  std::shared_ptr<Caches> caches;                         ///< null: nothing is looked up or stored
  toolchain::CompileProgress progress;                    ///< may be empty
};

/// Kernels as code, in order. Those that this process has compiled or loaded before, for whichever function,
/// are taken from there, then from the cache; the others are compiled in parallel and stored. Throws
/// Error(Compile). Thread-safe.
std::vector<LoadedKernel> make_kernels(const std::vector<schedule::Kernel>& kernels,
                                       const KernelTarget& target);

/// The code of kernels that were made before; nothing when the cache does not have all of them, with a
/// reason.
struct FoundKernels {
  std::optional<std::vector<LoadedKernel>> kernels;
  cache::Outcome outcome = cache::Outcome::Hit;
  std::string reason;
};
FoundKernels find_kernels(const std::vector<KernelReference>& references, Caches& caches);

/// How many kernels this process has compiled, and how many it found in memory or in a cache.
struct KernelCounts {
  uint64_t compiled = 0;
  uint64_t found = 0;
};
KernelCounts kernel_counts();

}  // namespace antegrad::compiler
