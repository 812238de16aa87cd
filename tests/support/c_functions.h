#pragma once
// Loads functions for tests of the C API: TorchScript written to a temporary file.
#include <antegrad/c.h>
#include <gtest/gtest.h>
#include <torch/script.h>
#include <torch/torch.h>

#include <filesystem>
#include <memory>
#include <string>

#include "support/seeds.h"

namespace antegrad::test {

struct FreeFunction {
  void operator()(antegrad_function* function) const { antegrad_function_free(function); }
};
using FunctionHandle = std::unique_ptr<antegrad_function, FreeFunction>;

/// Makes a module with a weight {3, 2} of doubles and the given source.
inline torch::jit::Module script_module(const std::string& source) {
  test::manual_seed(1);
  torch::jit::Module module("M");
  module.register_parameter("weight", torch::randn({3, 2}, at::kDouble), false);
  module.register_attribute("training", c10::BoolType::get(), true);
  module.define(source);
  return module;
}

/// A file that exists as long as this object.
class ScriptFile {
 public:
  explicit ScriptFile(const torch::jit::Module& module)
      : path_(std::filesystem::temp_directory_path() /
              ("antegrad_c_" + std::to_string(getpid()) + "_" + std::to_string(++count()) + ".pt")) {
    module.save(path_);
  }
  ~ScriptFile() { std::filesystem::remove(path_); }
  ScriptFile(const ScriptFile&) = delete;
  ScriptFile& operator=(const ScriptFile&) = delete;
  const char* path() const { return path_.c_str(); }

 private:
  static int& count() {
    static int number = 0;
    return number;
  }
  std::string path_;
};

inline FunctionHandle load_script(const torch::jit::Module& module) {
  const ScriptFile file(module);
  antegrad_function* function = nullptr;
  EXPECT_EQ(antegrad_load_script(file.path(), nullptr, &function), ANTEGRAD_OK) << antegrad_last_error();
  return FunctionHandle(function);
}

/// Describes the memory of a tensor as a C program would describe its own.
inline antegrad_tensor view_of(const at::Tensor& tensor) {
  antegrad_tensor out{};
  out.data = tensor.data_ptr();
  out.bytes = tensor.nbytes();
  out.dtype = tensor.scalar_type() == at::kDouble  ? ANTEGRAD_FLOAT64
              : tensor.scalar_type() == at::kFloat ? ANTEGRAD_FLOAT32
                                                   : ANTEGRAD_INT64;
  out.dims = static_cast<int32_t>(tensor.dim());
  for (int64_t i = 0; i < tensor.dim(); ++i) out.sizes[i] = tensor.size(i);
  return out;
}

/// Copies what the C API has written to a tensor.
inline at::Tensor copy_of(const antegrad_tensor& tensor) {
  const auto type = tensor.dtype == ANTEGRAD_FLOAT64   ? at::kDouble
                    : tensor.dtype == ANTEGRAD_FLOAT32 ? at::kFloat
                                                       : at::kLong;
  return torch::from_blob(tensor.data, at::IntArrayRef(tensor.sizes, static_cast<size_t>(tensor.dims)), type)
      .clone();
}

}  // namespace antegrad::test
