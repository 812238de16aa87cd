#pragma once
// The C interface between the library and libantegrad_clang.so. No C++ type and no exception crosses it.
#include <cstddef>

extern "C" {

/// Gets bytes or text; called at most once per output, on the calling thread, while the compile call runs.
typedef void (*antegrad_clang_sink)(void* context, const char* bytes, std::size_t size);

/// The source of one C file and the arguments of clang's front end (cc1). The file's name in diagnostics is
/// the last argument.
struct antegrad_clang_request {
  const char* source;  ///< with a zero after its end
  std::size_t source_size;
  const char* const* arguments;
  std::size_t argument_count;
  void* context;
  antegrad_clang_sink object;       ///< the relocatable object; only when the compilation succeeded
  antegrad_clang_sink diagnostics;  ///< warnings and errors as text, when there are any
};

/// One of kRejected, kMade, kOutOfMemory. Thread safe.
typedef int (*antegrad_clang_compile_function)(const antegrad_clang_request* request);
/// The version of clang in the plugin, e.g. "19.1.7".
typedef const char* (*antegrad_clang_version_function)();
}

namespace antegrad::toolchain {

/// What a compile call gives: no object, as the source is wrong; an object; no object, as LLVM found no
/// memory, or ended for another reason of its own. It must not be called again in this process then: its
/// locks may be held.
constexpr int kRejected = 0, kMade = 1, kOutOfMemory = 2;

constexpr const char* kPluginCompile = "antegrad_clang_compile_v1";
constexpr const char* kPluginVersion = "antegrad_clang_version_v1";

}  // namespace antegrad::toolchain
