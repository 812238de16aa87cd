#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cache/format/hash.h"
#include "compiler/cache/caches.h"
#include "compiler/cache/kernel_name.h"
#include "runtime/plan/kernel_code.h"
#include "schedule/device_facts.h"
#include "schedule/kernel.h"
#include "toolchain/toolchain.h"

namespace antegrad::compiler {

/// Identifies a kernel by what it was compiled from, and its object file for checking.
struct KernelReference {
  cache::Digest key;     ///< of source, compiler, instruction set
  cache::Digest object;  ///< SHA-256 of the object file
  auto operator<=>(const KernelReference&) const = default;
};

struct LoadedKernel {
  KernelReference reference;
  runtime::KernelCode code;
  std::shared_ptr<const std::string> object;  ///< the object file, for caches that do not have it
};

/// What compiles the kernels for one kind of device.
struct KernelCompiler {
  std::string toolchain;  ///< its name
  toolchain::CodeTarget target;
  /// Opens the toolchain; called only when something must be compiled.
  std::function<const toolchain::Toolchain&()> open;
};
/// How kernels are compiled and where they are cached.
struct KernelTarget {
  KernelCompiler cpu;
  KernelCompiler cuda;  ///< unset where `facts` is
  std::optional<schedule::DeviceFacts>
      facts;                            ///< of the CUDA device; nothing when there are no kernels for it
  std::shared_ptr<Caches> caches;       ///< null when nothing is looked up or stored
  toolchain::CompileProgress progress;  ///< may be empty
};

/// Returns the code of kernels, in order. Takes kernels that this process has compiled or loaded before, for
/// any function, from memory, others from the cache, compiles the rest in parallel and stores them. Throws
/// Error(Compile). Thread-safe.
std::vector<LoadedKernel> make_kernels(const std::vector<schedule::Kernel>& kernels,
                                       const KernelTarget& target);

/// Returns the code of a kernel for CUDA devices that is given as text, which defines kKernelFunction, like
/// make_kernels(); its mapping is empty. `name`: for people.
LoadedKernel make_cuda_kernel(const std::string& name, const std::string& text, const KernelTarget& target);

/// The code of kernels that were compiled before; nothing, with a reason, when the cache lacks one of them.
struct FoundKernels {
  std::optional<std::vector<LoadedKernel>> kernels;
  cache::Outcome outcome = cache::Outcome::Hit;
  std::string reason;
};
FoundKernels find_kernels(const std::vector<KernelReference>& references, Caches& caches);
/// Loads an object that was made from the text of a kernel, as kernel_text() returns it. Throws
/// Error(Compile).
LoadedKernel load_kernel(const cache::Digest& key, std::string object);
/// Returns the C text that a kernel for the CPU is compiled from: the same for kernels that differ only in
/// names.
std::string kernel_text(schedule::Kernel kernel);
/// Determines how kernels for CUDA devices run on threads. find_kernels() does not know, make_kernels() does
/// it. Cheap, and the same for a kernel that was just compiled and one from the cache: facts of the device
/// and the build of antegrad are part of the keys.
void map_kernels(const std::vector<schedule::Kernel>& kernels, const schedule::DeviceFacts& facts,
                 std::vector<LoadedKernel>& loaded);

/// How many kernels this process has compiled, and how many it found in memory or in a cache.
struct KernelCounts {
  uint64_t compiled = 0;
  uint64_t found = 0;
};
KernelCounts kernel_counts();

}  // namespace antegrad::compiler
