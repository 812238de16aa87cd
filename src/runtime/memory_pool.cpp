#include "runtime/memory_pool.h"

#include <c10/core/CPUAllocator.h>
#include <sys/mman.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>

#include "runtime/plan/memory_plan.h"
#include "util/fork_mutex.h"

namespace antegrad::runtime::memory_pool {
namespace {

/// Requests per window. Memory use before the last two windows is forgotten.
constexpr uint64_t kWindow = 256;

constexpr uintptr_t kPage = 4096, kHugePage = 2 << 20;

/// Populates fresh memory, which is about to be written: getting all pages at once, huge ones where they fit,
/// is several times cheaper than a fault for each. Both calls are hints, which systems that do not know them
/// ignore.
void prepare(void* data, size_t bytes) {
  const auto begin = reinterpret_cast<uintptr_t>(data), end = begin + bytes;
  const auto advise = [&](uintptr_t page, int advice) {
    const auto first = (begin + page - 1) / page * page, last = end / page * page;
    if (first < last) ::madvise(reinterpret_cast<void*>(first), last - first, advice);
  };
#ifdef MADV_HUGEPAGE
  advise(kHugePage, MADV_HUGEPAGE);
#endif
#ifdef MADV_POPULATE_WRITE
  advise(kPage, MADV_POPULATE_WRITE);
#endif
}

struct Block {
  at::DataPtr memory;
  size_t bytes = 0;
};

class Pool {
 public:
  at::DataPtr allocate(size_t bytes) {
    std::unique_ptr<Block> block;
    std::multimap<size_t, std::unique_ptr<Block>> dropped;  // freed after the lock is released
    {
      std::scoped_lock lock(mutex_);
      block = find(bytes);
      const auto size = block ? block->bytes : bytes;
      count_use(size);
      ++(block ? statistics_.reused : statistics_.fresh);
      if (!block) drop(dropped);
    }
    dropped.clear();
    if (!block) {
      try {
        block = std::make_unique<Block>(Block{fresh(bytes), bytes});
        prepare(block->memory.get(), bytes);
      } catch (...) {
        std::scoped_lock lock(mutex_);
        statistics_.used -= bytes;
        throw;
      }
    }
    void* data = block->memory.get();
    return {data, block.release(), give_back, at::Device(at::kCPU)};
  }

  Statistics statistics() {
    std::scoped_lock lock(mutex_);
    return statistics_;
  }

  void clear() {
    std::multimap<size_t, std::unique_ptr<Block>> dropped;
    std::scoped_lock lock(mutex_);
    dropped.swap(kept_);
    statistics_.kept = 0;
  }

  static Pool& instance() {
    static auto* pool = new Pool();  // never destroyed: tensors in statics may outlive it
    return *pool;
  }

 private:
  /// Allocates memory. Frees kept blocks first when there is not enough.
  at::DataPtr fresh(size_t bytes) {
    try {
      return c10::GetCPUAllocator()->allocate(bytes);
    } catch (...) {
      if (statistics().kept == 0) throw;
    }
    clear();
    return c10::GetCPUAllocator()->allocate(bytes);
  }

  static void give_back(void* context) {
    instance().keep(std::unique_ptr<Block>(static_cast<Block*>(context)));
  }

  void keep(std::unique_ptr<Block> block) {
    std::multimap<size_t, std::unique_ptr<Block>> dropped;
    std::scoped_lock lock(mutex_);
    statistics_.used -= block->bytes;
    statistics_.kept += block->bytes;
    kept_.emplace(block->bytes, std::move(block));
    drop(dropped);
  }

  std::unique_ptr<Block> find(size_t bytes) {
    auto found = kept_.lower_bound(bytes);
    if (found == kept_.end() || found->first > bytes + bytes / 8) return nullptr;
    found = std::prev(kept_.upper_bound(found->first));  // the one used last, which may be in caches
    auto block = std::move(found->second);
    kept_.erase(found);
    statistics_.kept -= block->bytes;
    return block;
  }

  void count_use(size_t bytes) {
    if (++requests_ % kWindow == 0) {
      peak_before_ = peak_;
      peak_ = 0;
    }
    statistics_.used += bytes;
    peak_ = std::max(peak_, statistics_.used);
  }

  /// Takes out the smallest blocks until the rest does not exceed the recent peak.
  void drop(std::multimap<size_t, std::unique_ptr<Block>>& dropped) {
    while (!kept_.empty() && statistics_.used + statistics_.kept > std::max(peak_, peak_before_)) {
      statistics_.kept -= kept_.begin()->first;
      dropped.insert(kept_.extract(kept_.begin()));
    }
  }

  BriefMutex mutex_;
  std::multimap<size_t, std::unique_ptr<Block>> kept_;
  Statistics statistics_;
  uint64_t requests_ = 0;
  size_t peak_ = 0, peak_before_ = 0;  ///< peaks of bytes in use, in this window and the one before
};

}  // namespace

at::DataPtr allocate(size_t bytes) {
  if (bytes < size_t{kSmallestPooled}) return c10::GetCPUAllocator()->allocate(bytes);
  return Pool::instance().allocate(bytes);
}

Statistics statistics() { return Pool::instance().statistics(); }

void clear() { Pool::instance().clear(); }

}  // namespace antegrad::runtime::memory_pool
