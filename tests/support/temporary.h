#pragma once
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

namespace antegrad::test {

/// A path for a temporary file of this process: a test and its run with generated code may run at the same
/// time.
inline std::string temporary_path(const std::string& name) {
  return ::testing::TempDir() + std::to_string(::getpid()) + "_" + name;
}

}  // namespace antegrad::test
