#include <fmt/format.h>

#include <array>
#include <charconv>
#include <limits>

#include "ir/parser.h"

namespace antegrad::ir {
namespace {

constexpr std::array kLayouts{Layout::Strided, Layout::Sparse};
constexpr std::array kFormats{MemoryFormat::Contiguous, MemoryFormat::Preserve, MemoryFormat::ChannelsLast,
                              MemoryFormat::ChannelsLast3d};
constexpr std::array kRealForms{Real::Form::Times, Real::Form::Over, Real::Form::TimesSqrt,
                                Real::Form::OverSqrt, Real::Form::Number};
constexpr std::array<std::string_view, 3> kDevices{"cpu", "cuda", "meta"};
constexpr std::array<std::string_view, 7> kScalars{"none", "int", "float", "bool", "complex", "str", "token"};

int nibble(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool is_device(const Token& token) {
  for (const auto kind : kDevices)
    if (token.is(kind)) return true;
  return false;
}

}  // namespace

Arg Parser::arg(Scope& scope) {
  const Nesting nesting(*this);
  const Token& token = current();
  switch (token.kind) {
    case Token::Kind::Value:
      return use(scope, false);
    case Token::Kind::String:
      return unescape(lexer_.take());
    case Token::Kind::Bytes:
      return bytes();
    case Token::Kind::Float:
      return number();
    case Token::Kind::Word:
      return word_arg();
    default:
      break;
  }
  if (token.is("[")) return list(scope);
  if (token.is("-") && (lexer_.next().kind == Token::Kind::Float || lexer_.next().is("inf"))) return number();
  if (at_dim()) return dim();
  throw_expected("an argument", token);
}

Arg Parser::word_arg() {
  if (at_dim()) return dim();
  const Token& token = current();
  if (token.is("inf") || token.is("nan")) return number();
  if (token.is("complex")) return complex();
  for (const auto form : kRealForms)
    if (token.is(name(form))) return real(form);
  if (token.is("graph")) return std::make_shared<const Graph>(graph());
  if (is_device(token)) return device();
  const Token word = lexer_.take();
  if (word.is("none")) return None{};
  if (word.is("true")) return true;
  if (word.is("false")) return false;
  if (const auto dtype = dtype_from_name(word.text)) return *dtype;
  for (const auto layout : kLayouts)
    if (word.is(name(layout))) return layout;
  for (const auto format : kFormats)
    if (word.is(name(format))) return format;
  throw_expected("an argument", word);
}

Arg::List Parser::list(Scope& scope) {
  expect("[");
  Arg::List out;
  if (accept("]")) return out;
  do out.push_back(arg(scope));
  while (accept(","));
  expect("]");
  return out;
}

std::complex<double> Parser::complex() {
  lexer_.take();
  expect("(");
  const double real = number();
  expect(",");
  const double imaginary = number();
  expect(")");
  return {real, imaginary};
}

Real Parser::real(Real::Form form) {
  lexer_.take();
  expect("(");
  const double scale = number();
  expect(",");
  Dim dim = this->dim();
  expect(")");
  return {form, scale, std::move(dim)};
}

double Parser::number() {
  const bool negative = accept("-");
  const Token token = lexer_.take();
  double out = 0;
  if (token.is("inf")) {
    out = std::numeric_limits<double>::infinity();
  } else if (token.is("nan") && !negative) {
    out = std::numeric_limits<double>::quiet_NaN();
  } else if (token.kind == Token::Kind::Float) {
    const char* last = token.text.data() + token.text.size();
    const auto [rest, status] = std::from_chars(token.text.data(), last, out);
    if (status != std::errc() || rest != last) throw_parse_error(token, "a number does not fit a double");
  } else {
    throw_expected("a floating-point number", token);
  }
  return negative ? -out : out;
}

Bytes Parser::bytes() {
  const Token token = lexer_.take();
  const std::string_view digits = token.text.substr(2, token.text.size() - 3);
  if (digits.size() % 2) throw_parse_error(token, "bytes have an odd number of hexadecimal digits");
  std::vector<uint8_t> out(digits.size() / 2);
  for (size_t i = 0; i < out.size(); ++i) {
    const int high = nibble(digits[2 * i]), low = nibble(digits[2 * i + 1]);
    if (high < 0 || low < 0)
      throw_parse_error(token, "bytes hold something else than the digits 0-9 and a-f");
    out[i] = static_cast<uint8_t>(high * 16 + low);
  }
  return std::make_shared<const std::vector<uint8_t>>(std::move(out));
}

Device Parser::device() {
  const Token token = lexer_.take();
  Device out;
  for (size_t i = 0; i < kDevices.size(); ++i) {
    if (!token.is(kDevices[i])) continue;
    out.kind = static_cast<Device::Kind>(i);
    if (accept(":")) out.index = small_integer("a device index");
    return out;
  }
  throw_expected("a device", token);
}

Type Parser::type() {
  const Nesting nesting(*this);
  const Token token = expect(Token::Kind::Word, "a type");
  if (token.is("list") || token.is("optional")) {
    expect("<");
    Type element = type();
    expect(">");
    return token.is("list") ? Type::list(std::move(element)) : Type::optional(std::move(element));
  }
  if (current().is("[")) {
    if (const auto dtype = dtype_from_name(token.text)) return tensor(*dtype);
  }
  for (size_t i = 0; i < kScalars.size(); ++i)
    if (token.is(kScalars[i])) return static_cast<ScalarKind>(i);
  throw_expected("a type", token);
}

TensorType Parser::tensor(DType dtype) {
  expect("[");
  TensorType out;
  out.dtype = dtype;
  const Token start = current();
  out.sizes = dims("]");
  if (accept("{")) {
    out.strides = dims("}");
  } else {
    try {
      out.strides = contiguous_strides(out.sizes);
    } catch (const std::exception& error) {
      throw_parse_error(start, fmt::format("the sizes that begin here have no strides: {}", error.what()));
    }
  }
  if (accept("+")) out.offset = dim();
  if (accept("@")) out.device = device();
  return out;
}

std::vector<Dim> Parser::dims(std::string_view close) {
  std::vector<Dim> out;
  if (accept(close)) return out;
  do out.push_back(dim());
  while (accept(","));
  expect(close);
  return out;
}

}  // namespace antegrad::ir
