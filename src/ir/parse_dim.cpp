#include <fmt/format.h>

#include <charconv>

#include "antegrad/error.h"
#include "ir/dim_expr.h"
#include "ir/parser.h"
#include "ir/text.h"

namespace antegrad::ir {
namespace {

bool is_symbol(std::string_view word) {
  return word.size() > 1 && word[0] == 's' &&
         word.find_first_not_of("0123456789", 1) == std::string_view::npos;
}

bool is_function(std::string_view word) {
  return word == "floor_div" || word == "mod" || word == "min" || word == "max";
}

}  // namespace

bool Parser::at_dim() const {
  const Token& token = current();
  if (token.kind == Token::Kind::Int || token.is("-") || token.is("(")) return true;
  return token.kind == Token::Kind::Word &&
         (is_symbol(token.text) || (is_function(token.text) && lexer_.next().is("(")));
}

Dim Parser::dim() {
  const Token start = current();
  try {
    return sum();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::InvalidArgument) throw;
    throw_parse_error(start, fmt::format("the dim that begins here is not valid: {}", error.what()));
  }
}

Dim Parser::sum() {
  const Nesting nesting(*this);
  std::vector<Dim> parts{product(accept("-"))};
  while (current().is("+") || current().is("-")) parts.push_back(product(lexer_.take().is("-")));
  return parts.size() == 1 ? parts[0] : detail::sum_of(parts);
}

Dim Parser::product(bool negative) {
  Dim out = 1;
  if (current().kind == Token::Kind::Int) {
    const Token token = lexer_.take();
    out = integer_of(token, token.text, negative);
    negative = false;
  } else {
    out = power();
  }
  while (accept("*")) {
    if (current().kind == Token::Kind::Int) {
      const Token token = lexer_.take();
      out = out * Dim(integer_of(token, token.text, false));
    } else {
      out = out * power();
    }
  }
  return negative ? out * Dim(-1) : out;
}

Dim Parser::power() {
  Dim base = atom();
  if (!accept("^")) return base;
  const Token at = current();
  int64_t exponent = integer("an exponent");
  if (exponent < 1 || exponent > detail::kMaxDimSize)
    throw_expected(fmt::format("an exponent from 1 to {}", detail::kMaxDimSize), at);
  Dim out = 1;
  for (; exponent > 1; exponent /= 2) {
    if (exponent % 2) out = out * base;
    base = base * base;
  }
  return out * base;
}

Dim Parser::atom() {
  if (accept("(")) {
    Dim inner = sum();
    expect(")");
    return inner;
  }
  const Token token = current();
  if (token.kind == Token::Kind::Word && is_symbol(token.text)) {
    lexer_.take();
    const int64_t index = integer_of(token, token.text.substr(1), false);
    if (index > std::numeric_limits<int32_t>::max())
      throw_parse_error(token, "a symbol's index is too large");
    return Dim::symbol(static_cast<int32_t>(index));
  }
  if (token.kind != Token::Kind::Word || !is_function(token.text)) throw_expected("a dim", token);
  lexer_.take();
  const auto values = operands();
  if (token.is("min")) return detail::extremum_of(detail::AtomKind::Min, values);
  if (token.is("max")) return detail::extremum_of(detail::AtomKind::Max, values);
  if (values.size() != 2)
    throw_parse_error(token, fmt::format("{} takes 2 operands, not {}", token.text, values.size()));
  return token.is("mod") ? mod(values[0], values[1]) : floor_div(values[0], values[1]);
}

std::vector<Dim> Parser::operands() {
  expect("(");
  std::vector<Dim> out{sum()};
  while (accept(",")) out.push_back(sum());
  expect(")");
  return out;
}

Dim parse_dim(std::string_view text) {
  Parser parser(text);
  Dim out = parser.dim();
  parser.end();
  return out;
}

}  // namespace antegrad::ir
