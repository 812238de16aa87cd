#pragma once

namespace antegrad::toolchain {

/// From now on, function-local statics of the library containing `function` are never destroyed.
///
/// LLVM constructs such objects in the middle of compilations. exit() destroys what was registered last
/// first, so it would destroy them before an earlier handler could wait for a thread that is compiling. Their
/// destructors are registered by calls of __cxa_atexit through the library's procedure linkage table, whose
/// entry is replaced here. Does nothing when the library has no such entry.
void leak_statics_of(const void* function);

}  // namespace antegrad::toolchain
