#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cache/format/key.h"
#include "cache/store.h"
#include "compiler/code/captured.h"
#include "compiler/code/plan.h"
#include "runtime/guards.h"

namespace antegrad::compiler {

/// The entries of one captured function in the caches: its plan with the code of the forward pass, and the
/// code of each case of the backward pass, which may be added later. Entries of kind "function" and "code":
///     "text"  the captured graph, for people                       kind "function" only
///     "plan"  Plan, as write() has it                              likewise
///     "code"  eager:u8 count:varint (key:32 bytes object:32 bytes)*count    the kernels, then
///             Program, as schedule::write() has it; eager: nothing but its graph
/// Thread-safe.
class FunctionCache {
 public:
  /// `graph`: as captured, by a call in this `ambient` state. Throws Error(CacheMiss) where the cache is
  /// strict and the function cannot be cached.
  static FunctionCache open(const CaptureSettings& settings, const ir::Graph& graph,
                            const CaptureFacts& facts, const runtime::Ambient& ambient);

  /// Whether there is an entry; load() takes it from there.
  bool prefetch();
  /// What is not there may be there for other sizes.
  void set_known_at_other_sizes() { known_at_other_sizes_ = true; }

  struct Stored {
    Plan plan;
    std::shared_ptr<const Lowered> forward;
  };
  /// Throws Error(CacheMiss) where the cache is strict and does not have it; so does load_backward().
  std::optional<Stored> load();
  /// `seconds`: that it took to make. Done in the background; what fails is noted.
  void store(const ir::Graph& graph, const Plan& plan, const Lowered& forward, double seconds) const;

  std::shared_ptr<const Lowered> load_backward(const std::vector<bool>& which) const;  ///< null: not there
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
  std::shared_ptr<Caches> caches_;  ///< null: neither looked up nor stored
  cache::Key key_;
  cache::Digest digest_;
  std::optional<cache::Loaded> prefetched_;
  bool known_at_other_sizes_ = false;
};

/// The caches that a function with these options uses; null: none.
std::shared_ptr<Caches> usable_caches(const Options& options);

}  // namespace antegrad::compiler
