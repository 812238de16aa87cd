#pragma once
#include <c10/util/Exception.h>

#include <string>

#include "antegrad/error.h"

namespace antegrad::packaging {

/// Throws Error(Io): something in the file is not as a package has it.
[[noreturn]] void refuse_file(const std::string& fact);
void require_in_file(bool holds, const char* fact);

/// Runs what makes something of the contents of a file, and refuses the file for every error that they cause.
template <class Work>
auto reading_file(const Work& work) {
  try {
    return work();
  } catch (const Error& error) {
    const auto code = error.code();
    if (code == ErrorCode::Io || code == ErrorCode::CacheMiss || code == ErrorCode::Compile) throw;
    refuse_file(error.what());
  } catch (const c10::Error& error) {  // LibTorch was given what no writer of packages writes
    refuse_file(error.what_without_backtrace());
  }
}

}  // namespace antegrad::packaging
