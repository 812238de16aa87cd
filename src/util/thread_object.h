#pragma once
#include <utility>

namespace antegrad {

/// An object that each thread has for itself, one for each `Tag`. It can be used at any time: the main thread
/// destroys what is thread-local before static objects, whose destructors may call us. They get a new one,
/// which nobody destroys.
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
