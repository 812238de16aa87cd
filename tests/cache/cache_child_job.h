#pragma once
// What the children of cache_children.h do: train small functions for the first time, compare with eager, and
// report what the caches did. Include it once per program.
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <map>
#include <thread>

#include "cache/format/hash.h"
#include "cache_fixture.h"
#include "compiler/cache/kernel_cache.h"
#include "support/seeds.h"

namespace antegrad::test {

/// Tensors in structures in structures.
struct ChildPair {
  at::Tensor left, right;
};
inline auto antegrad_fields(ChildPair& pair) { return std::tie(pair.left, pair.right); }
struct ChildNest {
  std::vector<ChildPair> pairs;
  std::map<std::string, at::Tensor> named;
};
inline auto antegrad_fields(ChildNest& nest) { return std::tie(nest.pairs, nest.named); }

constexpr int kChildFunctions = 4;  ///< of a set; function 4, in no set, has several kernels per pass

/// Which functions to train: sets `first` to `last`. No two functions of all sets have equal kernels.
struct ChildSets {
  int first = 0, last = 0;
  int begin_with = 0;      ///< the function of a set to begin with
  int only_function = -1;  ///< -1: all functions of a set

  std::string to_text() const {
    std::ostringstream out;
    out << first << ' ' << last << ' ' << begin_with << ' ' << only_function;
    return out.str();
  }
};
constexpr const char* kChildSets = "ANTEGRAD_TEST_CHILD_SETS";
constexpr const char* kChildTag = "ANTEGRAD_TEST_CHILD_TAG";        ///< Options::cache_tag
constexpr const char* kChildNested = "ANTEGRAD_TEST_CHILD_NESTED";  ///< "1": also call_with_structures()
/// A file whose existence starts the calls, so that several children start together.
constexpr const char* kChildGo = "ANTEGRAD_TEST_CHILD_GO";

inline at::Tensor child_function(int function, int set, const std::vector<at::Tensor>& x) {
  const double number = 0.5 + 0.125 * set;
  switch (function) {
    case 0:
      return ((x[0] * number).tanh() * x[1]).sum();
    case 1:
      return at::softmax(x[0] * x[1] + x[0] * number, 1).pow(2).mean();
    case 2:
      return (at::gelu(at::mm(x[0], x[1].t())) * number).sin().mean();
    case 3:
      return (at::layer_norm(x[0], {x[0].size(1)}) * x[1] * number).sigmoid().pow(2).sum();
    default: {
      const auto product = at::mm((x[0] * number).tanh(), x[1].t().sin());
      return at::softmax(at::mm(product.sigmoid(), x[0]), 1).pow(2).mean();
    }
  }
}

inline std::vector<at::Tensor> child_inputs() {
  test::manual_seed(5);
  return {torch::randn({6, 8}), torch::randn({6, 8})};
}

inline std::string hash_of(const Results& results) {
  cache::Sha256 hash;
  const auto add = [&](const at::Tensor& tensor) {
    const auto whole = tensor.contiguous();
    hash.update({static_cast<const char*>(whole.data_ptr()), whole.nbytes()});
  };
  add(results.value);
  for (const auto& gradient : results.gradients) add(gradient);
  return hash.digest().hex();
}

inline void say(const std::string& word, const auto&... more) {
  std::cout << "@ " << word;
  ((std::cout << ' ' << more), ...);
  std::cout << std::endl;
}

inline void say_report() {
  const auto report = cache_report();
  say("directory", report.directory);
  for (const auto& [prefix, counts] :
       {std::pair("", report.functions), std::pair("kernel_", report.kernels)}) {
    const std::string word = prefix;
    say("count", word + "hits", counts.hits);
    say("count", word + "misses", counts.misses + counts.guard_misses);
    say("count", word + "bypasses", counts.bypasses);
    say("count", word + "corrupt", counts.corrupt);
    say("count", word + "refused", counts.refused);
  }
  say("count", "compiled", compiler::kernel_counts().compiled);
  for (const auto& reason : report.reasons) say("reason", reason);
}

/// A function whose arguments are structures in structures.
inline void call_with_structures(const Options& options) {
  const auto x = child_inputs();
  const auto function = [](const ChildNest& nest) {
    return (nest.pairs[0].left * nest.pairs[1].right).tanh() + nest.named.at("shift");
  };
  const ChildNest nest{{{x[0], x[1]}, {x[1], x[0]}}, {{"shift", x[1]}}};
  const auto compiled = compile(function, options);
  Reference reference([&] { return Tensors{function(nest)}; });
  EXPECT_EQ(reference.difference({compiled(nest)}), std::nullopt);
  say("count", "nested_misses", compiled.report().cache.misses);
}

/// Entries that are not yet written are written while the process ends, as in a user's program.
inline void do_child_job() {
  ChildSets sets;
  std::istringstream(std::getenv(kChildSets)) >> sets.first >> sets.last >> sets.begin_with >>
      sets.only_function;
  Options options;
  if (const char* tag = std::getenv(kChildTag)) options.cache_tag = tag;
  const auto inputs = child_inputs();
  say("ready");
  if (const char* go = std::getenv(kChildGo))
    while (!std::filesystem::exists(go)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const auto begin = std::chrono::steady_clock::now();
  for (int set = sets.first; set <= sets.last; ++set)
    for (int i = 0; i < (sets.only_function < 0 ? kChildFunctions : 1); ++i) {
      const int which = sets.only_function < 0 ? (i + sets.begin_with) % kChildFunctions : sets.only_function;
      const auto function = [&](const std::vector<at::Tensor>& x) { return child_function(which, set, x); };
      const auto compiled = compile(function, options);
      const auto results = train(compiled, inputs);
      expect_same(train(function, inputs), results);
      for (const auto& reason : compiled.report().cache_reasons) say("why", reason);
      say("result", std::to_string(set) + "/" + std::to_string(which), hash_of(results));
    }
  if (std::getenv(kChildNested) != nullptr) call_with_structures(options);
  say("seconds", std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  say_report();
}

// Run by the other tests of the program, in a child process.
TEST(CacheChild, DISABLED_Job) { do_child_job(); }

}  // namespace antegrad::test
