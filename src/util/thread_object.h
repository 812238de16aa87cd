#pragma once
#include <utility>

namespace antegrad {

/// Returns the object of this thread, one per `Tag`. Usable at any time: the main thread destroys
/// thread-local objects before static ones, whose destructors may call antegrad. These get a new object,
/// which is never destroyed.
template <class T, class Tag>
T& thread_object() {
  static thread_local T* object = nullptr;
  struct Owner {
    ~Owner() { delete std::exchange(object, nullptr); }
  };
  if (object == nullptr) {
    [[maybe_unused]] static thread_local const Owner owner;
    object = new T();
  }
  return *object;
}

}  // namespace antegrad
