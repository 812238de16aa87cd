#pragma once
// Numbers that are inputs of compiled functions: docs/dynamic-shapes.md#numbers-declared-as-such.
#include <ATen/core/Tensor.h>

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace antegrad {

struct Leaves;
class Number;

namespace detail {

/// A number of the host: a double or an integer.
struct HostNumber {
  bool real = true;
  double number = 0;    ///< if it is real
  int64_t integer = 0;  ///< otherwise
  double as_double() const { return real ? number : static_cast<double>(integer); }
  bool operator==(const HostNumber&) const = default;
};

/// What a compiled function computes of its arguments on the host, in postfix notation: an op is a letter,
/// an argument and a constant are letters with a value.
using NumberCode = std::string;
enum class NumberOp : char;

template <class T>
concept PlainNumber = std::is_arithmetic_v<T> && !std::is_same_v<T, bool>;
template <class T>
inline constexpr bool kNever = false;

}  // namespace detail

/// A number that a compiled function takes as an input: calls with any value run the same code, and no
/// value is checked. It is passed where an op takes a tensor, and then is what a plain number would be there:
/// a tensor of f32 times a Number is of f32. Arithmetic on it is computed on the host, at each call. Neither
/// arithmetic on integers, except division, nor their sums with integers make them real.
class Number {
 public:
  Number() = default;
  template <detail::PlainNumber T>
  Number(T value) {
    host_.real = std::is_floating_point_v<T>;
    if constexpr (std::is_floating_point_v<T>)
      host_.number = static_cast<double>(value);
    else
      host_.integer = static_cast<int64_t>(value);
  }

  /// The number as ops take it: a tensor without dims on the CPU, of f64 or i64, that counts as a number
  /// where types are promoted.
  operator at::Tensor() const;
  /// The number itself. Throws Error(DataRead) in a function that is being captured: the code that is made is
  /// for all numbers.
  double value() const;
  bool is_integer() const { return !host_.real; }  ///< whether ops take it as an integer

  Number operator-() const;
  friend Number operator+(const Number& a, const Number& b);
  friend Number operator-(const Number& a, const Number& b);
  friend Number operator*(const Number& a, const Number& b);
  friend Number operator/(const Number& a, const Number& b);  ///< real, also of integers
  Number& operator+=(const Number& other) { return *this = *this + other; }
  Number& operator-=(const Number& other) { return *this = *this - other; }
  Number& operator*=(const Number& other) { return *this = *this * other; }
  Number& operator/=(const Number& other) { return *this = *this / other; }

  friend Number exp(const Number& x);
  friend Number log(const Number& x);
  friend Number sqrt(const Number& x);
  friend Number sin(const Number& x);
  friend Number cos(const Number& x);
  friend Number tan(const Number& x);
  friend Number tanh(const Number& x);
  friend Number floor(const Number& x);
  friend Number abs(const Number& x);
  friend Number pow(const Number& x, const Number& y);
  friend Number min(const Number& a, const Number& b);
  friend Number max(const Number& a, const Number& b);

  /// A condition on a Number would hold for one of the values only.
  template <class T>
  requires(detail::PlainNumber<T> || std::is_same_v<T, Number>) bool operator==(const T&) const {
    return refuse_comparison<T>();
  }
  template <class T>
  requires(detail::PlainNumber<T> || std::is_same_v<T, Number>) bool operator<(const T&) const {
    return refuse_comparison<T>();
  }
  template <class T>
  requires(detail::PlainNumber<T> || std::is_same_v<T, Number>) bool operator>(const T&) const {
    return refuse_comparison<T>();
  }
  template <class T>
  requires(detail::PlainNumber<T> || std::is_same_v<T, Number>) bool operator<=(const T&) const {
    return refuse_comparison<T>();
  }
  template <class T>
  requires(detail::PlainNumber<T> || std::is_same_v<T, Number>) bool operator>=(const T&) const {
    return refuse_comparison<T>();
  }

  /// Number `index` among the arguments of a function that is being captured, with this value.
  static Number argument(const Number& value, uint32_t index);
  const detail::HostNumber& host() const { return host_; }
  /// How a function that is being captured computed it; null for a number that is known.
  const detail::NumberCode* code() const { return code_.get(); }

 private:
  template <class T>
  static bool refuse_comparison() {
    static_assert(detail::kNever<T>,
                  "an antegrad::Number cannot be compared, because compiled code is the same for all its "
                  "values: compare tensors (torch::where(x < t, a, b)), or take a plain double");
    return false;
  }
  static Number apply(detail::NumberOp op, const Number& a, const Number* b = nullptr);

  detail::HostNumber host_;
  std::shared_ptr<const detail::NumberCode> code_;
};

namespace detail {

/// Thrown by a run of a function that makes tensors of numbers which are not among its inputs yet.
struct NewNumbers {
  std::vector<NumberCode> codes;
};

/// The numbers that are inputs of a compiled function, besides its tensors: its arguments, and what it
/// computes of them. Grows when a capture finds more. Thread-safe.
class NumberInputs {
 public:
  NumberInputs();
  ~NumberInputs();
  NumberInputs(const NumberInputs&) = delete;
  NumberInputs& operator=(const NumberInputs&) = delete;

  /// Appends the tensors for a call with these arguments; returns how many.
  size_t append(Leaves& leaves);
  void learn(const NewNumbers& found);
  /// Returns the index of the input; at least `known` when it is not among the first that many.
  size_t find(const NumberCode& code, size_t known) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// While it lives, Numbers of the function that this thread runs are the given tensors.
class NumberScope {
 public:
  /// `tensors`: for the first inputs, in order.
  NumberScope(const NumberInputs& inputs, std::vector<at::Tensor> tensors);
  ~NumberScope();
  NumberScope(const NumberScope&) = delete;
  NumberScope& operator=(const NumberScope&) = delete;

  static at::Tensor tensor_of(const Number& number);  ///< in the innermost scope of this thread
  void finish();                                      ///< throws NewNumbers when there are any

 private:
  const NumberInputs& inputs_;
  const std::vector<at::Tensor> tensors_;
  NewNumbers missing_;
  NumberScope* const outer_;
};
/// Throws Error(UnsupportedArgument): the function returns or assigns a Number.
[[noreturn]] void refuse_number_result();

}  // namespace detail
}  // namespace antegrad
