#pragma once
#include <utility>
#include <vector>

#include "util/thread_object.h"

namespace antegrad::engine {

/// A vector that takes the memory of one which this thread released before: every pass needs the same few
/// large blocks, and requesting them from malloc each time makes it consolidate all the small ones.
template <class T>
class RecycledVector : public std::vector<T> {
 public:
  RecycledVector() {
    if (spare().empty()) return;
    std::vector<T>::operator=(std::move(spare().back()));
    spare().pop_back();
  }
  ~RecycledVector() {
    this->clear();
    if (spare().size() < kMost && this->capacity() * sizeof(T) <= kMostBytes && this->capacity() != 0)
      spare().push_back(std::move(*this));
  }
  RecycledVector(RecycledVector&&) noexcept = default;
  RecycledVector(const RecycledVector&) = delete;
  RecycledVector& operator=(RecycledVector&&) = delete;
  RecycledVector& operator=(const RecycledVector&) = delete;

 private:
  static constexpr size_t kMost = 8, kMostBytes = size_t{1} << 24;
  static std::vector<std::vector<T>>& spare() {
    return thread_object<std::vector<std::vector<T>>, RecycledVector>();
  }
};

}  // namespace antegrad::engine
