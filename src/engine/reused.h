#pragma once
#include <utility>
#include <vector>

#include "util/thread_object.h"

namespace antegrad::engine {

/// A vector that takes the memory of one which this thread released before: every pass needs the same few
/// large blocks, and requesting them from malloc each time makes it consolidate all the small ones.
template <class T>
class Reused : public std::vector<T> {
 public:
  Reused() {
    if (spare().empty()) return;
    std::vector<T>::operator=(std::move(spare().back()));
    spare().pop_back();
  }
  ~Reused() {
    this->clear();
    if (spare().size() < kMost && this->capacity() * sizeof(T) <= kMostBytes && this->capacity() != 0)
      spare().push_back(std::move(*this));
  }
  Reused(Reused&&) noexcept = default;
  Reused(const Reused&) = delete;
  Reused& operator=(Reused&&) = delete;
  Reused& operator=(const Reused&) = delete;

 private:
  static constexpr size_t kMost = 8, kMostBytes = size_t{1} << 24;
  static std::vector<std::vector<T>>& spare() { return thread_object<std::vector<std::vector<T>>, Reused>(); }
};

}  // namespace antegrad::engine
