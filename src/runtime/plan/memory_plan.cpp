#include "runtime/plan/memory_plan.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace antegrad::runtime {
namespace {

struct Placed {
  int64_t begin, end;  ///< bytes
};

int64_t rounded(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

/// Returns where `bytes` fit best among neighbours, which are sorted by where they begin.
int64_t tightest_gap(const std::vector<Placed>& neighbours, int64_t bytes) {
  int64_t best = -1;
  int64_t best_size = std::numeric_limits<int64_t>::max();
  int64_t end = 0;
  for (const auto& neighbour : neighbours) {
    const auto size = neighbour.begin - end;
    if (size >= bytes && size < best_size) {
      best = end;
      best_size = size;
    }
    end = std::max(end, neighbour.end);
  }
  return best >= 0 ? best : end;
}

}  // namespace

MemoryPlan plan_memory(const std::vector<Block>& blocks) {
  MemoryPlan plan;
  plan.offsets.resize(blocks.size());
  std::vector<size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return blocks[a].bytes > blocks[b].bytes; });
  std::vector<size_t> placed;  // by offset
  std::vector<Placed> neighbours;
  for (auto index : order) {
    const auto& block = blocks[index];
    neighbours.clear();
    for (auto other : placed)
      if (blocks[other].begin <= block.end && block.begin <= blocks[other].end)
        neighbours.push_back({plan.offsets[other], plan.offsets[other] + rounded(blocks[other].bytes)});
    const auto offset = tightest_gap(neighbours, rounded(block.bytes));
    plan.offsets[index] = offset;
    plan.bytes = std::max(plan.bytes, offset + rounded(block.bytes));
    placed.insert(std::upper_bound(placed.begin(), placed.end(), offset,
                                   [&](int64_t at, size_t other) { return at < plan.offsets[other]; }),
                  index);
  }
  return plan;
}

}  // namespace antegrad::runtime
