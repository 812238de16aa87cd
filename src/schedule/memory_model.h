#pragma once
#include "ir/liveness.h"
#include "schedule/program.h"

namespace antegrad::schedule {

/// How much memory the results of nodes take when nodes run one after the other, each result living from the
/// node that makes it to the last node that reads it; updated as kernels are formed that run at other times
/// than their nodes.
class MemoryModel {
 public:
  explicit MemoryModel(const ir::Graph& graph);

  /// A kernel that runs right after the node `at`. Values are those that own the memory.
  struct Work {
    std::vector<ir::ValueId> reads, makes;
    int64_t at = 0;
  };
  /// Whether replacing the kernels `before` by the kernel `after` keeps memory use at or below the peak
  /// without fusion wherever it increases it.
  bool allows(const std::vector<Work>& before, const Work& after) const;
  void replace(const std::vector<Work>& before, const Work& after);

  int64_t peak() const { return peak_; }  ///< in bytes, without fusion

 private:
  using Changes = std::vector<int64_t>;  ///< per node: bytes allocated less bytes freed
  void add(const Work& work, int64_t sign, Changes& changes) const;
  Changes changes(const std::vector<Work>& before, const Work& after) const;
  static void add(int64_t bytes, int64_t first, int64_t last, Changes& changes);

  struct Memory {
    int64_t bytes = 0;
    ir::Lifetime lifetime;  ///< in nodes
  };
  /// Returns the memory of a value that a node of the graph makes; null for other values.
  const Memory* made(ir::ValueId id) const;

  ir::PerValue<Memory> memory_;  ///< per value that owns memory
  Changes total_;                ///< with the kernels so far
  int64_t peak_ = 0;
};

/// Returns the peak memory of a program's steps in bytes, without its inputs.
int64_t peak_bytes(const Program& program);

/// When a program needs this many bytes more than its nodes do without fusion, it is scheduled again with a
/// memory model.
constexpr int64_t kMemorySlack = int64_t{1} << 20;

}  // namespace antegrad::schedule
