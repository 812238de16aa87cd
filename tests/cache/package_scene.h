#pragma once
// What the tests of packages share.
#include <gtest/gtest.h>
#include <torch/torch.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "antegrad/compile.h"
#include "antegrad/error.h"
#include "antegrad/package.h"

namespace antegrad::test {

/// A file in the folder for temporary files that is removed at the end.
class PackageFile {
 public:
  explicit PackageFile(const std::string& name = "package")
      : path_((std::filesystem::temp_directory_path() / (name + "_" + std::to_string(::getpid()) + ".pt2"))
                  .string()) {}
  ~PackageFile() { std::filesystem::remove(path_); }
  PackageFile(const PackageFile&) = delete;
  PackageFile& operator=(const PackageFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

struct SmallNet : torch::nn::Module {
  SmallNet() {
    first = register_module("first", torch::nn::Linear(4, 8));
    second = register_module("second", torch::nn::Linear(8, 1));
  }
  at::Tensor forward(const at::Tensor& x) { return second(torch::tanh(first(x))); }
  torch::nn::Linear first{nullptr}, second{nullptr};
};

/// The results of a call and its backward pass.
struct PackageRun {
  at::Tensor value;
  std::vector<at::Tensor> gradients;
};

/// Calls a function of one tensor, sums the result up and differentiates by the argument, where that requires
/// a gradient, and the parameters.
template <class F>
PackageRun run_with_gradients(const F& function, const at::Tensor& input,
                              const std::vector<at::Tensor>& parameters) {
  PackageRun run;
  const auto x = input.detach().clone().set_requires_grad(input.requires_grad());
  run.value = function(x);
  std::vector<at::Tensor> by = parameters;
  if (x.requires_grad()) by.push_back(x);
  run.gradients = torch::autograd::grad({run.value.sum()}, by);
  run.value = run.value.detach();
  return run;
}

inline void expect_same(const PackageRun& a, const PackageRun& b) {
  EXPECT_TRUE(torch::equal(a.value, b.value)) << a.value << b.value;
  ASSERT_EQ(a.gradients.size(), b.gradients.size());
  for (size_t i = 0; i < a.gradients.size(); ++i)
    EXPECT_TRUE(torch::equal(a.gradients[i], b.gradients[i])) << i << a.gradients[i] << b.gradients[i];
}

/// The text of the error that a call throws, and "" if it throws none.
template <class F>
std::string error_of(const F& call, ErrorCode code) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  return {};
}

/// Runs a disabled test of this program as another process without a compiler. Returns its exit status.
inline int run_child(const std::string& test,
                     const std::vector<std::pair<std::string, std::string>>& environment) {
  auto command =
      std::string("PATH=/nowhere ANTEGRAD_CLANG_PLUGIN=/nowhere ANTEGRAD_CC=/nowhere ANTEGRAD_CACHE=off ");
  for (const auto& [name, value] : environment) command += name + "='" + value + "' ";
  command += "'" + std::filesystem::read_symlink("/proc/self/exe").string() +
             "' --gtest_also_run_disabled_tests --gtest_filter=" + test;
  return std::system(command.c_str());
}

inline std::vector<char> bytes_of_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
inline void write_file(const std::string& path, const std::vector<char>& bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

inline auto tensor_function(const PackagedFunction& function) {
  return [function](const at::Tensor& x) { return function(x).toTensor(); };
}

}  // namespace antegrad::test
