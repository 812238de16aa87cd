#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cache/format/key.h"
#include "cache/store.h"
#include "compiler/cache/function_key.h"
#include "compiler/plan/plan.h"

namespace antegrad::compiler {

/// The cache entries of one captured function: its plan with the code of the forward pass, and the code of
/// each case of the backward pass, which may be added later. Entries are of kind "function" and "code", with
/// the sections
///     "text"  the captured graph, for people                       kind "function" only
///     "plan"  Plan, as written by write()                          kind "function" only
///     "code"  eager:u8 count:varint (key:32 bytes object:32 bytes)*count    the kernels, then
///             Program, as written by schedule::write(); if eager, it has only its graph
/// The const members are thread-safe.
class FunctionCache {
 public:
  /// `graph` is as captured. Throws Error(CacheMiss) when the cache is strict and the function cannot be
  /// cached.
  static FunctionCache open(const PlanSettings& settings, const ir::Graph& graph, const CaptureFacts& facts,
                            const KeyFacts& surroundings);

  /// Returns one that neither has nor stores anything, for code that does not come from a capture.
  static FunctionCache none(const std::string& name, std::shared_ptr<const Lowering> lowering) {
    return {name, false, std::move(lowering)};
  }

  /// Fetches the entry for load() and returns whether there is one.
  bool prefetch();
  /// Reports a miss as one for these sizes only: the cache has the function at other sizes.
  void set_known_at_other_sizes() { known_at_other_sizes_ = true; }

  struct Stored {
    Plan plan;
    std::shared_ptr<const Lowered> forward;
  };
  /// Throws Error(CacheMiss) on a miss when the cache is strict, as does load_backward().
  std::optional<Stored> load();
  /// Writes in the background and notes failures. `seconds` is the time that compiling took.
  void store(const ir::Graph& graph, const Plan& plan, const Lowered& forward, double seconds) const;

  std::shared_ptr<const Lowered> load_backward(const std::vector<bool>& which) const;  ///< null on a miss
  void store_backward(const std::vector<bool>& which, const Lowered& code, double seconds) const;

 private:
  FunctionCache(std::string name, bool strict, std::shared_ptr<const Lowering> lowering)
      : name_(std::move(name)), strict_(strict), lowering_(std::move(lowering)) {}
  struct Part;
  Part decode(cache::Loaded loaded) const;
  void finish(const Part& part) const;
  void put(const std::string& kind, uint64_t variant, std::vector<cache::Section> sections,
           const Lowered& code, double seconds) const;
  [[noreturn]] void throw_miss(const std::string& reason) const;

  std::string name_;
  bool strict_;
  std::shared_ptr<const Lowering> lowering_;
  std::shared_ptr<Caches> caches_;  ///< null when nothing is looked up or stored
  cache::Key key_;
  cache::Digest digest_;
  std::optional<cache::Loaded> prefetched_;
  bool known_at_other_sizes_ = false;
};

/// Returns the caches that a function with these options uses; null when it uses none.
std::shared_ptr<Caches> usable_caches(const Options& options);

}  // namespace antegrad::compiler
