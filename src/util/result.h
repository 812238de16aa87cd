#pragma once
#include <string>
#include <utility>
#include <variant>

namespace antegrad {

/// A human-readable reason why there is no value.
struct Failure {
  std::string reason;
};

/// A value, or the reason why there is none.
template <class T>
class Result {
 public:
  Result(T value) : state_(std::move(value)) {}
  Result(Failure failure) : state_(std::move(failure)) {}

  explicit operator bool() const { return std::holds_alternative<T>(state_); }
  /// These throw std::bad_variant_access when there is no value; reason() throws it when there is one.
  const T& operator*() const& { return std::get<T>(state_); }
  T&& operator*() && { return std::get<T>(std::move(state_)); }
  const T* operator->() const { return &std::get<T>(state_); }
  const std::string& reason() const { return std::get<Failure>(state_).reason; }

 private:
  std::variant<T, Failure> state_;
};

}  // namespace antegrad
