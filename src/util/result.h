#pragma once
#include <string>
#include <utility>
#include <variant>

namespace antegrad {

/// Why there is no value, for people.
struct Failure {
  std::string reason;
};

/// A value, or why there is none.
template <class T>
class Result {
 public:
  Result(T value) : state_(std::move(value)) {}
  Result(Failure failure) : state_(std::move(failure)) {}

  explicit operator bool() const { return std::holds_alternative<T>(state_); }
  /// Throw std::bad_variant_access where it is the other one.
  const T& operator*() const& { return std::get<T>(state_); }
  T&& operator*() && { return std::get<T>(std::move(state_)); }
  const T* operator->() const { return &std::get<T>(state_); }
  const std::string& reason() const { return std::get<Failure>(state_).reason; }

 private:
  std::variant<T, Failure> state_;
};

}  // namespace antegrad
