#pragma once
// The C interface between the library and libantegrad_clang.so. Neither C++ types nor exceptions cross it.
#include <cstddef>

extern "C" {

/// Receives bytes or text. Called at most once per output, on the calling thread, during the compile call.
typedef void (*antegrad_clang_sink)(void* context, const char* bytes, std::size_t size);

/// A compile request: the source of one C file and the arguments of clang's front end (cc1), the last of
/// which is the file name for diagnostics.
struct antegrad_clang_request {
  const char* source;  ///< null-terminated
  std::size_t source_size;
  const char* const* arguments;
  std::size_t argument_count;
  void* context;
  antegrad_clang_sink object;       ///< receives the relocatable object, if compilation succeeded
  antegrad_clang_sink diagnostics;  ///< receives warnings and errors as text, if there are any
};

/// Returns kRejected, kMade or kOutOfMemory. Thread-safe.
typedef int (*antegrad_clang_compile_function)(const antegrad_clang_request* request);
/// Returns the version of clang in the plugin, e.g. "19.1.7".
typedef const char* (*antegrad_clang_version_function)();
}

namespace antegrad::toolchain {

/// Results of a compile call: the source was rejected; an object was made; LLVM ran out of memory or failed
/// fatally. After the last, the plugin must not be called again in this process, because LLVM's locks may
/// still be held.
constexpr int kRejected = 0, kMade = 1, kOutOfMemory = 2;

constexpr const char* kPluginCompile = "antegrad_clang_compile_v1";
constexpr const char* kPluginVersion = "antegrad_clang_version_v1";

}  // namespace antegrad::toolchain
