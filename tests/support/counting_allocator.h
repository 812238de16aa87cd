#pragma once
// Counts LibTorch's CPU allocations, and can make them fail.
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/alloc_cpu.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace antegrad::test {

/// Allocates by LibTorch's own functions, with the size of each block in a header before it. Live and peak
/// numbers count blocks allocated since it was installed; earlier blocks go back to the allocator they came
/// from.
class CountingAllocator final : public c10::Allocator {
 public:
  /// Installs it once per process; it is never uninstalled.
  static CountingAllocator& installed() {
    static CountingAllocator* const allocator = [] {
      auto* made = new CountingAllocator;
      c10::SetCPUAllocator(made, /*priority=*/100);
      return made;
    }();
    return *allocator;
  }

  int64_t live_bytes() const { return live_; }
  int64_t live_blocks() const { return blocks_; }
  int64_t peak_bytes() const { return peak_; }
  void restart_peak() { peak_ = live_.load(); }
  /// Makes all allocations after the next `allocations` fail, as LibTorch's own would. Negative: none fails.
  void fail_after(int64_t allocations) {
    left_ = allocations;
    failed_ = false;
  }
  bool failed() const { return failed_; }  ///< since fail_after()

  c10::DataPtr allocate(size_t bytes) override {
    if (left_ >= 0) fail_or_count();
    auto* block = static_cast<char*>(c10::alloc_cpu(bytes + kHeader));
    *reinterpret_cast<size_t*>(block) = bytes;
    const int64_t live = live_ += static_cast<int64_t>(bytes);
    ++blocks_;
    for (int64_t peak = peak_; live > peak && !peak_.compare_exchange_weak(peak, live);) {
    }
    char* const data = block + kHeader;
    return {data, data, &release, c10::Device(c10::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }

 private:
  CountingAllocator() = default;

  void fail_or_count() {
    if (left_ > 0) {
      --left_;
      return;
    }
    failed_ = true;
    TORCH_CHECK(false, "DefaultCPUAllocator: can't allocate memory: a test");
  }

  static void release(void* data) {
    if (data == nullptr) return;
    auto* block = static_cast<char*>(data) - kHeader;
    installed().live_ -= static_cast<int64_t>(*reinterpret_cast<size_t*>(block));
    --installed().blocks_;
    c10::free_cpu(block);
  }

  static constexpr size_t kHeader = 64;  // keeps the alignment of c10::alloc_cpu
  std::atomic<int64_t> live_{0}, blocks_{0}, peak_{0}, left_{-1};
  std::atomic<bool> failed_{false};
};

}  // namespace antegrad::test
