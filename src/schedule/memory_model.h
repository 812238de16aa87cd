#pragma once
#include "ir/liveness.h"
#include "schedule/program.h"

namespace antegrad::schedule {

/// How much memory the results of nodes take while the nodes run one after the other: each from the node that
/// makes it to the last one that reads it. Kernels that run at other times than their nodes change that.
class MemoryModel {
 public:
  explicit MemoryModel(const ir::Graph& graph);

  /// A kernel that runs right after the node `at`; values are those that own the memory.
  struct Work {
    std::vector<ir::ValueId> reads, makes;
    int64_t at = 0;
  };
  /// Whether one kernel in the place of others needs no more at any time than nodes without fusion do.
  bool allows(const std::vector<Work>& before, const Work& after) const;
  void replace(const std::vector<Work>& before, const Work& after);

  int64_t peak() const { return peak_; }  ///< of nodes without fusion, in bytes

 private:
  using Changes = std::vector<int64_t>;  ///< bytes that come to be at a node, less those that cease to be
  void add(const Work& work, int64_t sign, Changes& changes) const;
  Changes changes(const std::vector<Work>& before, const Work& after) const;
  static void add(int64_t bytes, int64_t first, int64_t last, Changes& changes);

  struct Memory {
    int64_t bytes = 0;
    ir::Lifetime lifetime;  ///< over the nodes
  };
  /// Of a value that a node of the graph makes; null: it is none.
  const Memory* made(ir::ValueId id) const;

  ir::PerValue<Memory> memory_;  ///< by the value that owns it
  Changes total_;                ///< as things are
  int64_t peak_ = 0;
};

/// What a program's steps need at most, without its inputs.
int64_t peak_bytes(const Program& program);

/// A program may need so much more than nodes without fusion before it is made with less fusion.
constexpr int64_t kMemorySlack = int64_t{1} << 20;

}  // namespace antegrad::schedule
