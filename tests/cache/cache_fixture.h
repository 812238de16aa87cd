#pragma once
// A fixture that gives each test a cache directory of its own.
#include <antegrad/antegrad.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <torch/torch.h>

#include <filesystem>
#include <functional>

#include "support/closeness.h"
#include "support/seeds.h"

namespace antegrad::test {

class CacheTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ::unsetenv("ANTEGRAD_CACHE");
    auto name = (std::filesystem::temp_directory_path() / "antegrad-cache-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    use(directory());
    test::manual_seed(5);
  }
  void TearDown() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  std::filesystem::path directory() const { return folder_ / "cache"; }
  const std::filesystem::path& folder() const { return folder_; }
  static void use(const std::filesystem::path& directory) {
    CacheConfig config;
    config.directory = directory.string();
    configure_cache(config);
  }

 private:
  std::filesystem::path folder_;
};

inline CacheCounts counts(uint64_t hits, uint64_t misses) {
  CacheCounts out;
  out.hits = hits;
  out.misses = misses;
  return out;
}

inline void PrintTo(const CacheCounts& counts, std::ostream* out) {
  *out << counts.hits << " hits, " << counts.misses << " misses, " << counts.guard_misses << " guard misses, "
       << counts.bypasses << " bypasses, " << counts.corrupt << " corrupt, " << counts.refused << " refused";
}

/// A value, and its gradients with respect to all inputs.
struct Results {
  at::Tensor value;
  std::vector<at::Tensor> gradients;
  std::function<Results()> again;  ///< computes them again; set for eager functions

  Tensors all() const {
    Tensors tensors = gradients;
    tensors.push_back(value);
    return tensors;
  }
};

template <class F>
Results train(const F& function, const std::vector<at::Tensor>& inputs) {
  std::vector<at::Tensor> leaves;
  for (const auto& input : inputs) leaves.push_back(input.detach().clone().set_requires_grad(true));
  Results out;
  out.value = function(leaves);
  out.gradients = torch::autograd::grad({out.value.sum()}, leaves);
  constexpr bool is_compiled = requires { function.report(); };
  if constexpr (!is_compiled) out.again = [=] { return train(function, inputs); };
  return out;
}

/// Compares up to the rounding of generated code.
inline void expect_same(const Results& eager, const Results& actual) {
  Reference reference([&] { return eager.again().all(); }, eager.all());
  EXPECT_EQ(reference.difference(actual.all()), std::nullopt);
}

inline void expect_identical(const Results& expected, const Results& actual) {
  EXPECT_TRUE(at::equal(expected.value, actual.value)) << actual.value;
  ASSERT_EQ(expected.gradients.size(), actual.gradients.size());
  for (size_t i = 0; i < expected.gradients.size(); ++i)
    EXPECT_TRUE(at::equal(expected.gradients[i], actual.gradients[i])) << "gradient " << i;
}

}  // namespace antegrad::test
