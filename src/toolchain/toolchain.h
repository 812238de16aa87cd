#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "toolchain/isa.h"

namespace antegrad::toolchain {

/// Machine code and the global functions that it defines: a relocatable ELF64 file for x86-64, which
/// Module::load() loads, or a cubin, which cuda::Module::load() loads.
struct Object {
  std::vector<uint8_t> bytes;
  std::vector<std::string> symbols;
  double seconds = 0;  ///< how long compile_all() took to make it
};

/// Compiles C or CUDA text to objects. The text includes no headers. Thread-safe.
///
/// All compilers get flags that keep floating point exact: no contraction, no reassociation, NaN and
/// infinities as in IEEE 754; math functions do not set errno and operations do not trap.
class Toolchain {
 public:
  virtual ~Toolchain() = default;
  /// Compiler and version, e.g. "clang-19.1.7" or "cc-12.2.0"; part of cache keys. Does not open the plugin.
  virtual std::string name() const = 0;
  /// Throws Error(Compile) with the command, the diagnostics and the source.
  virtual Object compile(const std::string& source, const CodeTarget& target) const = 0;
};

using ToolchainPtr = std::shared_ptr<const Toolchain>;

/// clang 19 in this process, from the plugin libantegrad_clang.so (clang_plugin_path()). The first
/// compilation opens the plugin, which takes tens of milliseconds; it stays open.
ToolchainPtr clang_toolchain();

/// Returns why clang_toolchain() cannot compile here; empty when it can. Opens the plugin.
std::string clang_unavailable();

/// Returns a C compiler of this machine, run as a process. When `compiler` is empty: ANTEGRAD_CC, else the
/// first of cc, clang, gcc on PATH.
ToolchainPtr system_toolchain(const std::string& compiler = {});

/// Returns clang_toolchain() if its plugin can be opened, else system_toolchain(). Opens the plugin.
ToolchainPtr default_toolchain();
/// Returns its name without opening the plugin, assuming that a plugin that exists can be opened.
std::string default_toolchain_name();

/// Called with the number of sources compiled so far, by one thread at a time. An exception ends the
/// compilation.
using CompileProgress = std::function<void(size_t done, size_t total)>;

/// Returns one object per source, in order. Equal sources are compiled once, different ones in parallel. When
/// some fail, throws the first error in the order of sources after all are done.
std::vector<Object> compile_all(const Toolchain& toolchain, const std::vector<std::string>& sources,
                                const CodeTarget& target, const CompileProgress& progress = {});

}  // namespace antegrad::toolchain
