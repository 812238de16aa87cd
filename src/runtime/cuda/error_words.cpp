#include "runtime/cuda/error_words.h"

#include <fmt/format.h>

#include <atomic>
#include <deque>
#include <mutex>
#include <set>
#include <vector>

#include "antegrad/error.h"
#include "codegen/cuda/kernel_source.h"
#include "util/fork_mutex.h"

namespace antegrad::runtime::cuda {
namespace {

constexpr size_t kWordsOfPage = 1024;
constexpr unsigned kPortable = 1, kMapped = 2;  // CU_MEMHOSTALLOC_…

struct Page {
  volatile uint64_t* words = nullptr;
  toolchain::cuda::DevicePointer device = 0;
};

/// All words of this process. Pages are never freed: kernels may still write to them.
class Words {
 public:
  static Words& instance() {
    static auto& words = *new Words;
    return words;
  }

  size_t take(toolchain::cuda::Device device, std::vector<std::string> indices) {
    const std::scoped_lock lock(mutex_);
    devices_.insert(device);
    size_t index = names_.size();
    if (!free_.empty()) {
      index = free_.front();
      free_.pop_front();
    } else {
      if (index % kWordsOfPage == 0) pages_.push_back(new_page());
      names_.emplace_back();
    }
    word(index) = 0;
    names_[index] = std::move(indices);
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
    return pages_[index / kWordsOfPage].device + index % kWordsOfPage * sizeof(uint64_t);
  }

  std::vector<toolchain::cuda::Device> devices() {
    const std::scoped_lock lock(mutex_);
    return {devices_.begin(), devices_.end()};
  }

  /// Returns a description of a word that is set, and clears it; empty when there is none.
  std::string take_error() {
    if (used_.load(std::memory_order_acquire) == 0) return {};
    const std::scoped_lock lock(mutex_);
    for (size_t i = 0; i < names_.size(); ++i) {
      const uint64_t found = word(i);
      if (found == 0) continue;
      word(i) = 0;
      const auto error = codegen::cuda::index_error(found);
      const auto& texts = names_[i];
      const auto known = static_cast<size_t>(error.number) <= texts.size() && error.number > 0;
      return fmt::format("index {} of {}", error.index, known ? texts[error.number - 1] : "a kernel");
    }
    return {};
  }

 private:
  static Page new_page() {
    const auto& api = toolchain::cuda::driver();
    void* memory = nullptr;
    Page page;
    toolchain::cuda::check(api.host_alloc(&memory, kWordsOfPage * sizeof(uint64_t), kPortable | kMapped),
                           "allocating host memory");
    toolchain::cuda::check(api.host_get_device_pointer(&page.device, memory, 0), "mapping host memory");
    page.words = static_cast<volatile uint64_t*>(memory);
    return page;
  }

  volatile uint64_t& word(size_t index) { return pages_[index / kWordsOfPage].words[index % kWordsOfPage]; }

  BriefMutex mutex_;
  std::vector<Page> pages_;
  std::vector<std::vector<std::string>> names_;  ///< per word: of the indices that its kernel checks
  std::set<toolchain::cuda::Device> devices_;
  std::deque<size_t> free_;
  std::atomic<size_t> used_ = 0;
};

}  // namespace

ErrorWord::ErrorWord(toolchain::cuda::Device device, std::vector<std::string> indices)
    : index_(Words::instance().take(device, std::move(indices))) {}
ErrorWord::~ErrorWord() { Words::instance().give_back(index_); }
toolchain::cuda::DevicePointer ErrorWord::device() const { return Words::instance().device(index_); }

std::vector<toolchain::cuda::Device> devices_with_words() { return Words::instance().devices(); }

void throw_found_errors() {
  const auto what = Words::instance().take_error();
  if (what.empty()) return;
  throw Error(ErrorCode::InvalidArgument, "run:cuda",
              fmt::format("{} is out of range in an earlier call, whose results are not numbers where they "
                          "depend on it",
                          what),
              "Check the indices; ANTEGRAD_CUDA_SYNC=1 makes the call itself throw");
}

}  // namespace antegrad::runtime::cuda
