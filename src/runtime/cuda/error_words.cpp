#include "runtime/cuda/error_words.h"

#include <fmt/format.h>

#include <atomic>
#include <deque>
#include <mutex>
#include <vector>

#include "antegrad/error.h"
#include "util/fork_mutex.h"

namespace antegrad::runtime::cuda {
namespace {

constexpr size_t kWordsOfPage = 1024;
constexpr unsigned kPortable = 1, kMapped = 2;  // CU_MEMHOSTALLOC_…

struct Page {
  volatile uint32_t* words = nullptr;
  toolchain::cuda::DevicePointer device = 0;
};

/// All words of this process. Pages are never freed: kernels may still write to them.
class Words {
 public:
  static Words& instance() {
    static auto& words = *new Words;
    return words;
  }

  size_t take(std::string what) {
    const std::scoped_lock lock(mutex_);
    size_t index = names_.size();
    if (!free_.empty()) {
      index = free_.front();
      free_.pop_front();
    } else {
      if (index % kWordsOfPage == 0) pages_.push_back(new_page());
      names_.emplace_back();
    }
    word(index) = 0;
    names_[index] = std::move(what);
    used_.store(names_.size(), std::memory_order_release);
    return index;
  }

  /// Taken again as late as possible, because kernels that were launched may still write to it.
  void give_back(size_t index) {
    const std::scoped_lock lock(mutex_);
    free_.push_back(index);
  }

  toolchain::cuda::DevicePointer device(size_t index) {
    const std::scoped_lock lock(mutex_);
    return pages_[index / kWordsOfPage].device + index % kWordsOfPage * sizeof(uint32_t);
  }

  /// Returns the description of a word that is set, and clears it; empty when there is none.
  std::string take_error() {
    if (used_.load(std::memory_order_acquire) == 0) return {};
    const std::scoped_lock lock(mutex_);
    for (size_t i = 0; i < names_.size(); ++i) {
      if (word(i) == 0) continue;
      word(i) = 0;
      return names_[i];
    }
    return {};
  }

 private:
  static Page new_page() {
    const auto& api = toolchain::cuda::driver();
    void* memory = nullptr;
    Page page;
    toolchain::cuda::check(api.host_alloc(&memory, kWordsOfPage * sizeof(uint32_t), kPortable | kMapped),
                           "allocating host memory");
    toolchain::cuda::check(api.host_get_device_pointer(&page.device, memory, 0), "mapping host memory");
    page.words = static_cast<volatile uint32_t*>(memory);
    return page;
  }

  volatile uint32_t& word(size_t index) { return pages_[index / kWordsOfPage].words[index % kWordsOfPage]; }

  BriefMutex mutex_;
  std::vector<Page> pages_;
  std::vector<std::string> names_;
  std::deque<size_t> free_;
  std::atomic<size_t> used_ = 0;
};

}  // namespace

ErrorWord::ErrorWord(std::string what) : index_(Words::instance().take(std::move(what))) {}
ErrorWord::~ErrorWord() { Words::instance().give_back(index_); }
toolchain::cuda::DevicePointer ErrorWord::device() const { return Words::instance().device(index_); }

void check_errors() {
  const auto what = Words::instance().take_error();
  if (what.empty()) return;
  throw Error(
      ErrorCode::InvalidArgument, "run:cuda",
      fmt::format("an index was out of range in a call before this one, in {}; results of that call are "
                  "wrong, this one has not begun",
                  what),
      "Check the indices; ANTEGRAD_CUDA_SYNC=1 makes the call itself throw");
}

}  // namespace antegrad::runtime::cuda
