#include "antegrad/number.h"

#include <ATen/ScalarOps.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <mutex>

#include "antegrad/error.h"
#include "antegrad/tree.h"
#include "capture/mode.h"
#include "capture/recorder.h"
#include "util/fork_mutex.h"

namespace antegrad::detail {

enum class NumberOp : char {
  Argument = 'a',
  Real = 'r',
  Integer = 'i',
  Add = '+',
  Subtract = '-',
  Multiply = '*',
  Divide = '/',
  Negate = 'n',
  Exp = 'e',
  Log = 'l',
  Sqrt = 'q',
  Sin = 's',
  Cos = 'c',
  Tan = 't',
  Tanh = 'h',
  Floor = 'f',
  Abs = 'b',
  Pow = '^',
  Min = '<',
  Max = '>',
};

namespace {

bool has_two_operands(NumberOp op) {
  switch (op) {
    case NumberOp::Add:
    case NumberOp::Subtract:
    case NumberOp::Multiply:
    case NumberOp::Divide:
    case NumberOp::Pow:
    case NumberOp::Min:
    case NumberOp::Max:
      return true;
    default:
      return false;
  }
}

HostNumber real(double value) { return {true, value, 0}; }
/// Overflow wraps around.
HostNumber integer(uint64_t value) { return {false, 0, static_cast<int64_t>(value)}; }

/// Ops that integers have as well; nothing for the others.
std::optional<HostNumber> of_integers(NumberOp op, int64_t x, int64_t y) {
  const auto a = static_cast<uint64_t>(x), b = static_cast<uint64_t>(y);
  switch (op) {
    case NumberOp::Add:
      return integer(a + b);
    case NumberOp::Subtract:
      return integer(a - b);
    case NumberOp::Multiply:
      return integer(a * b);
    case NumberOp::Negate:
      return integer(-a);
    case NumberOp::Abs:
      return integer(x < 0 ? -a : a);
    case NumberOp::Floor:
      return integer(a);
    case NumberOp::Min:
      return integer(std::min(x, y));
    case NumberOp::Max:
      return integer(std::max(x, y));
    default:
      return std::nullopt;
  }
}

double of_reals(NumberOp op, double a, double b) {
  switch (op) {
    case NumberOp::Add:
      return a + b;
    case NumberOp::Subtract:
      return a - b;
    case NumberOp::Multiply:
      return a * b;
    case NumberOp::Divide:
      return a / b;
    case NumberOp::Negate:
      return -a;
    case NumberOp::Exp:
      return std::exp(a);
    case NumberOp::Log:
      return std::log(a);
    case NumberOp::Sqrt:
      return std::sqrt(a);
    case NumberOp::Sin:
      return std::sin(a);
    case NumberOp::Cos:
      return std::cos(a);
    case NumberOp::Tan:
      return std::tan(a);
    case NumberOp::Tanh:
      return std::tanh(a);
    case NumberOp::Floor:
      return std::floor(a);
    case NumberOp::Abs:
      return std::abs(a);
    case NumberOp::Pow:
      return std::pow(a, b);
    case NumberOp::Min:
      return std::min(a, b);
    case NumberOp::Max:
      return std::max(a, b);
    default:
      return 0;  // values, which are not computed
  }
}

HostNumber compute(NumberOp op, const HostNumber& a, const HostNumber& b) {
  if (!a.real && !(has_two_operands(op) && b.real))
    if (const auto result = of_integers(op, a.integer, b.integer)) return *result;
  return real(of_reals(op, a.as_double(), b.as_double()));
}

template <class T>
void append(NumberCode& code, NumberOp op, T value) {
  code.push_back(static_cast<char>(op));
  code.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

template <class T>
T take(std::string_view& code) {
  T value;
  std::memcpy(&value, code.data(), sizeof(T));
  code.remove_prefix(sizeof(T));
  return value;
}

/// Returns nothing when an argument is missing: it belongs to a call with arguments of other types.
std::optional<HostNumber> evaluate(std::string_view code, const Leaves& leaves) {
  c10::SmallVector<HostNumber, 8> stack;
  while (!code.empty()) {
    const auto op = static_cast<NumberOp>(code.front());
    code.remove_prefix(1);
    if (op == NumberOp::Argument) {
      const auto index = take<uint32_t>(code);
      if (index >= leaves.declared.size()) return std::nullopt;
      stack.push_back(leaves.declared[index].first);
    } else if (op == NumberOp::Real) {
      stack.push_back(real(take<double>(code)));
    } else if (op == NumberOp::Integer) {
      stack.push_back(integer(take<uint64_t>(code)));
    } else {
      const auto b = has_two_operands(op) ? stack.pop_back_val() : HostNumber();
      stack.back() = compute(op, stack.back(), b);
    }
  }
  return stack.back();
}

at::Tensor as_tensor(const HostNumber& number) {
  return at::native::wrapped_scalar_tensor(number.real ? at::Scalar(number.number)
                                                       : at::Scalar(number.integer));
}

NumberCode code_of(const Number& number) {
  if (number.code() != nullptr) return *number.code();
  NumberCode code;
  if (number.is_integer())
    append(code, NumberOp::Integer, number.host().integer);
  else
    append(code, NumberOp::Real, number.host().number);
  return code;
}

thread_local NumberScope* innermost = nullptr;

}  // namespace

struct NumberInputs::Impl {
  mutable BriefMutex mutex;
  std::vector<NumberCode> codes;
};

NumberInputs::NumberInputs() : impl_(std::make_unique<Impl>()) {}
NumberInputs::~NumberInputs() = default;

size_t NumberInputs::append(Leaves& leaves) {
  const std::scoped_lock lock(impl_->mutex);
  auto& codes = impl_->codes;
  if (codes.empty())
    for (size_t i = 0; i < leaves.declared.size(); ++i)
      detail::append(codes.emplace_back(), NumberOp::Argument, static_cast<uint32_t>(i));
  for (const auto& code : codes)
    leaves.tensors.push_back(as_tensor(evaluate(code, leaves).value_or(HostNumber())));
  return codes.size();
}

void NumberInputs::learn(const NewNumbers& found) {
  const std::scoped_lock lock(impl_->mutex);
  for (const auto& code : found.codes)
    if (std::ranges::find(impl_->codes, code) == impl_->codes.end()) impl_->codes.push_back(code);
}

size_t NumberInputs::find(const NumberCode& code, size_t known) const {
  const std::scoped_lock lock(impl_->mutex);
  const auto found = std::ranges::find(impl_->codes, code) - impl_->codes.begin();
  return std::min(static_cast<size_t>(found), known);
}

NumberScope::NumberScope(const NumberInputs& inputs, std::vector<at::Tensor> tensors)
    : inputs_(inputs), tensors_(std::move(tensors)), outer_(innermost) {
  innermost = this;
}
NumberScope::~NumberScope() { innermost = outer_; }

at::Tensor NumberScope::tensor_of(const Number& number) {
  if (number.code() == nullptr) return as_tensor(number.host());
  if (innermost == nullptr)
    throw Error(ErrorCode::ForeignFake, "capture:number",
                "a Number that a compiled function computed is used after the function has returned",
                "Compute it again outside, from the number that was passed");
  auto& scope = *innermost;
  const auto place = scope.inputs_.find(*number.code(), scope.tensors_.size());
  if (place < scope.tensors_.size()) return scope.tensors_[place];
  scope.missing_.codes.push_back(*number.code());
  return as_tensor(number.host());
}

void NumberScope::finish() {
  if (!missing_.codes.empty()) throw std::move(missing_);
}

void refuse_number_result() {
  throw Error(ErrorCode::UnsupportedArgument, "compile",
              "the function returns a Number, or assigns one to an argument",
              "Return it as a tensor (at::Tensor(t)), or compute it outside");
}

}  // namespace antegrad::detail

namespace antegrad {

using detail::NumberOp;

Number::operator at::Tensor() const { return detail::NumberScope::tensor_of(*this); }

double Number::value() const {
  if (code_ == nullptr) return host_.as_double();
  throw Error(ErrorCode::DataRead, "capture:number",
              "the function reads the value of a Number, for which there would have to be code of its own",
              "Compute with the Number itself, or take a plain double");
}

Number Number::argument(const Number& value, uint32_t index) {
  // What runs in parts runs anew in each call, with the value of that call.
  if (const auto* recorder = capture::active_recorder(); recorder == nullptr || recorder->tape != nullptr)
    return value;
  Number out = value;
  detail::NumberCode code;
  detail::append(code, NumberOp::Argument, index);
  out.code_ = std::make_shared<const detail::NumberCode>(std::move(code));
  return out;
}

Number Number::apply(NumberOp op, const Number& a, const Number* b) {
  Number out;
  out.host_ = detail::compute(op, a.host_, b != nullptr ? b->host_ : detail::HostNumber());
  if (a.code_ == nullptr && (b == nullptr || b->code_ == nullptr)) return out;
  auto code = detail::code_of(a);
  if (b != nullptr) code += detail::code_of(*b);
  code.push_back(static_cast<char>(op));
  out.code_ = std::make_shared<const detail::NumberCode>(std::move(code));
  return out;
}

Number Number::operator-() const { return apply(NumberOp::Negate, *this); }
Number operator+(const Number& a, const Number& b) { return Number::apply(NumberOp::Add, a, &b); }
Number operator-(const Number& a, const Number& b) { return Number::apply(NumberOp::Subtract, a, &b); }
Number operator*(const Number& a, const Number& b) { return Number::apply(NumberOp::Multiply, a, &b); }
Number operator/(const Number& a, const Number& b) { return Number::apply(NumberOp::Divide, a, &b); }
Number exp(const Number& x) { return Number::apply(NumberOp::Exp, x); }
Number log(const Number& x) { return Number::apply(NumberOp::Log, x); }
Number sqrt(const Number& x) { return Number::apply(NumberOp::Sqrt, x); }
Number sin(const Number& x) { return Number::apply(NumberOp::Sin, x); }
Number cos(const Number& x) { return Number::apply(NumberOp::Cos, x); }
Number tan(const Number& x) { return Number::apply(NumberOp::Tan, x); }
Number tanh(const Number& x) { return Number::apply(NumberOp::Tanh, x); }
Number floor(const Number& x) { return Number::apply(NumberOp::Floor, x); }
Number abs(const Number& x) { return Number::apply(NumberOp::Abs, x); }
Number pow(const Number& x, const Number& y) { return Number::apply(NumberOp::Pow, x, &y); }
Number min(const Number& a, const Number& b) { return Number::apply(NumberOp::Min, a, &b); }
Number max(const Number& a, const Number& b) { return Number::apply(NumberOp::Max, a, &b); }

}  // namespace antegrad
