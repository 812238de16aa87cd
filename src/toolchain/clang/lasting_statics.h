#pragma once

namespace antegrad::toolchain {

/// From here on, static objects that the library of `function` makes on first use are never destroyed.
///
/// LLVM makes such objects in the middle of compilations, so exit() would destroy them before any handler
/// that was registered earlier could wait for a thread that is compiling: they come last, and are destroyed
/// first. Their destructors are registered by calls of __cxa_atexit through the library's procedure linkage
/// table, whose entry is replaced. Does nothing where the library has no such entry.
void make_statics_last(const void* function);

}  // namespace antegrad::toolchain
